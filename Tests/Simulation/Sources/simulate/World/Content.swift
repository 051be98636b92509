import Foundation

/// A body that is larger than what may wait in memory for a reader.
enum LargeBody {
    static let chunk = 64 << 10
    static let chunkCount = 24

    static func piece(_ index: Int, _ version: Int) -> Data {
        let head = Data("\(index).".utf8)
        return head + Data(repeating: UInt8(ascii: "0") + UInt8(version % 10), count: chunk - head.count)
    }

    /// Returns the version of a body; `nil` if it is not the whole body of a version.
    static func version(of body: Data) -> Int? {
        guard body.count == chunk * chunkCount, let last = body.last, (48..<58).contains(last) else { return nil }
        let version = Int(last) - 48
        for index in 0..<chunkCount where body[index * chunk..<(index + 1) * chunk] != piece(index, version) { return nil }
        return version
    }
}

/// A file of which each version has other bytes at each place.
enum SimulatedFile {
    static let size = 4_000

    private static func text(_ version: Int) -> String {
        (0..<size / 10).map { "\(version % 10):" + "0000000\($0)".suffix(7) + "\n" }.joined()
    }

    private static let texts = (0..<10).map(text)

    /// The text of a version.
    static func content(_ version: Int) -> String { texts[version % 10] }

    /// True if the data is the whole file of one version.
    static func isWhole(_ data: Data) -> Bool {
        guard let first = data.first, (48..<58).contains(first) else { return false }
        return data == Data(content(Int(first) - 48).utf8)
    }
}
