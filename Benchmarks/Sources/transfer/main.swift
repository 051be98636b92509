// Downloads and uploads of a large file: the peak memory of the whole process, and the throughput. The comparison is a bare URLSession
// delegate task that writes to a file. Each runs in a process of its own, in turn, against one server in another process. Fails above 64
// MiB.
//   swift run -c release --package-path Benchmarks transfer [MEBIBYTES]
import Foundation
import NessHTTP
import NessTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

let arguments = Array(CommandLine.arguments.dropFirst())
if let role = arguments.first, Int(role) == nil {
    do { try await play(role, Array(arguments.dropFirst())) } catch { fail("\(role): \(error)") }
    exit(0)
}

let mebibytes = arguments.first.flatMap { Int($0) } ?? 1_024
let server = try Part("serve", [])
guard let url = server.firstLine() else { fail("the server did not start") }
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ness-transfer-\(UUID().uuidString)", isDirectory: true)
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
let source = folder.appendingPathComponent("source").path
_ = FileManager.default.createFile(atPath: source, contents: nil)
let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: source))
for _ in 0..<mebibytes { try writer.write(contentsOf: Data(repeating: 7, count: 1 << 20)) }
try writer.close()

/// Runs a part, and returns its seconds and its peak memory in MiB.
func run(_ role: String, _ size: Int) throws -> (seconds: Double, peak: Double) {
    let file = folder.appendingPathComponent("file").path
    let path = role.hasPrefix("segments") ? "limited/" : ""
    let part = try Part(role, ["\(url)/\(path)\(size)", role.contains("upload") ? source : file])
    let line = part.firstLine() ?? ""
    part.wait()
    try? FileManager.default.removeItem(atPath: file)
    let numbers = line.split(separator: " ").compactMap { Double($0) }
    guard numbers.count == 2 else { fail("\(role) said \(line.debugDescription)") }
    return (numbers[0], numbers[1])
}

var isTooMuch = false
@MainActor func report(_ role: String, _ size: Int, _ results: [(seconds: Double, peak: Double)]) -> Double {
    let seconds = results.map(\.seconds).sorted()[results.count / 2], peak = results.map(\.peak).max() ?? 0
    let isOurs = !role.hasPrefix("bare")
    if isOurs && peak > 64 { isTooMuch = true }
    print("\(role): \(size) MiB in \(tenth(seconds)) s, \(tenth(Double(size) / seconds)) MiB/s, peak \(tenth(peak)) MiB")
    return seconds
}

/// Runs two parts in turn, so that both use the same disk. Returns the speed of the second part as a multiple of the first's.
@MainActor func compare(_ first: String, _ second: String, _ size: Int) throws -> Double {
    let results = try (0..<3).map { _ in (try run(first, size), try run(second, size)) }
    return report(first, size, results.map(\.0)) / report(second, size, results.map(\.1))
}
print("throughput of a download: \(tenth(try compare("bare-download", "download", mebibytes))) times the bare task's")
print("throughput of an upload: \(tenth(try compare("bare-upload", "upload", mebibytes))) times the bare task's")
// At a millisecond per piece, 1 GiB takes more than a minute.
for role in ["slow-download", "slow-reader"] { _ = report(role, mebibytes, [try run(role, mebibytes)]) }
let gain = try compare("segments-1", "segments-4", 16)
print("four segments of what gives 4 MB/s a connection: \(tenth(gain)) times as fast as one")
try FileManager.default.removeItem(at: folder)
server.end()
exit(isTooMuch ? 1 : 0)
