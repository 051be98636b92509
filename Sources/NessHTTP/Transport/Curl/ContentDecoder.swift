#if os(Linux)
import Foundation

/// Removes the content codings of a body, but decodes no more than there is room for.
///
/// A small compressed piece can expand a thousandfold. The decoder keeps what is left of the piece until the reader has made room. Used by
/// one thread at a time.
final class ContentDecoder {
    /// The inflaters. The coding that was applied last comes first.
    private let inflaters: [BodyInflater]
    /// The space for the output of each inflater.
    private var outputs: [[UInt8]]
    /// True while the added bytes may contain more of the body.
    private(set) var hasRest = false

    /// The most codings of a body. Each of them multiplies the bytes that an attacker makes the decoder process.
    static let codingLimit = 2

    /// Makes a decoder. Fails for no coding, too many codings or an unknown one.
    /// - Parameter codings: The content codings in lower case, in the order in which they were applied.
    init?(_ codings: [String]) {
        guard (1...Self.codingLimit).contains(codings.count) else { return nil }
        inflaters = codings.reversed().compactMap { BodyInflater($0) }
        guard inflaters.count == codings.count else { return nil }
        outputs = inflaters.map { _ in [UInt8](repeating: 0, count: 64 << 10) }
    }

    /// Makes the decoder of a body. `nil` if the body has no coding, or if the caller wants the encoded body.
    /// - Throws: `TransportError` of the kind `malformedResponse` for a coding that is not supported.
    static func make(for head: ResponseHeadParser.Head, of request: HTTPRequest) throws -> ContentDecoder? {
        guard ContentCoding.isRemoved(from: head.statusCode, head.headers, of: request) else { return nil }
        let codings = ContentCoding.codings(in: head.headers)
        if let decoder = ContentDecoder(codings) { return decoder }
        let named = codings.joined(separator: ", ").prefix(80)
        throw TransportError(.malformedResponse, "the server sent a content coding that was not requested (\(named))")
    }

    /// Adds encoded bytes.
    func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        inflaters[0].add(bytes)
        hasRest = true
    }

    /// Decodes the next bytes, or finds that there are no more.
    /// - Parameters:
    ///   - limit: The most bytes to decode, at least 1.
    ///   - take: Receives the bytes. It is not called without bytes.
    /// - Throws: `TransportError` of the kind `malformedResponse`.
    func decode(upTo limit: Int, _ take: (UnsafeBufferPointer<UInt8>) -> Void) throws {
        let last = inflaters.count - 1
        let count = try decode(last, upTo: limit)
        hasRest = count > 0
        if count > 0 { outputs[last].withUnsafeBufferPointer { take(UnsafeBufferPointer(rebasing: $0[..<count])) } }
    }

    /// Fills the output of an inflater. Returns 0 if more input is needed.
    private func decode(_ index: Int, upTo limit: Int) throws -> Int {
        while true {
            let inflater = inflaters[index]
            let count = try outputs[index].withUnsafeMutableBufferPointer { output in
                try inflater.inflate(into: UnsafeMutableBufferPointer(rebasing: output[..<min(limit, output.count)]))
            }
            if count > 0 || index == 0 { return count }
            let inputCount = try decode(index - 1, upTo: .max)
            if inputCount == 0 { return 0 }
            outputs[index - 1].withUnsafeBufferPointer { inflater.add(UnsafeBufferPointer(rebasing: $0[..<inputCount])) }
        }
    }

    /// Checks that the body is complete.
    /// - Throws: `TransportError` of the kind `truncated`.
    func finish() throws { for inflater in inflaters { try inflater.finish() } }
}
#endif
