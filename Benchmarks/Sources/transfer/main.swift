// Downloads and uploads of a large file: throughput, and the peak memory of the whole process. Each runs in a process of its own, in turn
// with the program that it is compared with: `curl -o`, and a bare URLSession delegate task that writes to a file.
//   swift run -c release --package-path Benchmarks transfer [--transport curl|urlsession] [--long] [MEBIBYTES]
// A slow reader and a slow disk take 30 MB a second of 300 MB; of 3 GB with `--long`. Fails if one of ours takes too much memory.
import Foundation
import Measure
import NessHTTP
import Upstream

try await Upstream.serveIfAsked()
var arguments = Array(CommandLine.arguments.dropFirst())
if let role = arguments.first, Int(role) == nil, !role.hasPrefix("-") {
    try await play(role, Array(arguments.dropFirst()))
    exit(0)
}

let engine = Engine.read(from: &arguments)
let isLong = arguments.contains("--long")
let mebibytes = arguments.lazy.compactMap { Int($0) }.first ?? 1_024
/// URLSession on Linux has no back pressure.
let memoryLimit = engine == .curl ? 45.0 : 64
let upstream = try await Upstream.start(fileSize: mebibytes << 20)
let other = try ServerProcess.again(["serve"])
let otherURL = other.firstLine()
print("engine: \(engine.makeTransport())\nserver of downloads: \(upstream.name); of the rest: TestServer in a process of its own")
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ness-transfer-\(UUID().uuidString)", isDirectory: true)
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
let source = folder.appendingPathComponent("source").path
_ = FileManager.default.createFile(atPath: source, contents: nil)
let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: source))
for _ in 0..<mebibytes { try writer.write(contentsOf: Data(repeating: 7, count: 1 << 20)) }
try writer.close()

/// Runs a part in a process of its own, and returns its seconds and its peak memory in MiB.
func run(_ role: String, _ size: Int) throws -> (seconds: Double, peak: Double) {
    let file = folder.appendingPathComponent("file").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let isFast = role == "download" || role == "bare-download" || role == "curl"
    let path = role.hasPrefix("segments") ? "limited/" : ""
    let url = isFast ? upstream.url.absoluteString + "/file" : "\(otherURL)/\(path)\(size)"
    if role == "curl" {
        guard let curl = findProgram("curl") else { throw Failed(reason: "curl is not installed") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: curl)
        process.arguments = ["--silent", "--fail", "--output", file, url]
        let start = ContinuousClock.now
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(reason: "curl failed with \(process.terminationStatus)") }
        return ((ContinuousClock.now - start) / .seconds(1), 0)
    }
    let part = try ServerProcess.again([role, url, role.contains("upload") ? source : file, engine.rawValue])
    let line = part.firstLine()
    part.end()
    let numbers = line.split(separator: " ").compactMap { Double($0) }
    guard numbers.count == 2 else { throw Failed(reason: "\(role) printed \(line.debugDescription)") }
    return (numbers[0], numbers[1])
}

/// The peak memory of our parts.
var peaks: [Double] = []
@MainActor func report(_ role: String, _ size: Int, _ results: [(seconds: Double, peak: Double)]) {
    let seconds = median(results.map(\.seconds)), peak = results.map(\.peak).max() ?? 0
    let memory = peak > 0 ? ", peak memory \(decimal(peak)) MiB" : ""
    print("\(role): \(size) MiB in \(decimal(seconds)) s, \(decimal(Double(size) / seconds)) MiB/s\(memory)")
    if peak > 0 && !role.hasPrefix("bare") { peaks.append(peak) }
}

/// Runs two parts in turn, so that both use the same disk. Returns the speed of the second part as a multiple of the first's, by round.
@MainActor func compare(_ first: String, _ second: String, _ size: Int, rounds: Int = 3) throws -> [Double] {
    let results = try (0..<rounds).map { _ in (try run(first, size), try run(second, size)) }
    report(first, size, results.map(\.0))
    report(second, size, results.map(\.1))
    return results.map { $0.0.seconds / $0.1.seconds }
}
if findProgram("curl") != nil {
    let speeds = try compare("curl", "download", mebibytes, rounds: 5)
    try Row("throughput of a download, times that of `curl -o`", speeds, engine == .curl ? .atLeast(0.9) : nil).report()
} else {
    print("curl is not installed: no comparison with it")
}
try Row("throughput of a download, times a bare URLSession task's", compare("bare-download", "download", mebibytes)).report()
try Row("throughput of an upload, times a bare URLSession task's", compare("bare-upload", "upload", mebibytes)).report()
let slowSize = isLong ? 2_861 : 286
for role in ["slow-download", "slow-reader"] { report(role, slowSize, [try run(role, slowSize)]) }
try Row("four segments of a file at 4 MB/s a connection, times the speed of one", compare("segments-1", "segments-4", 16)).report()
let most = peaks.max() ?? 0
try Row("peak memory of a process that transfers \(mebibytes) MiB: MiB", [most], .atMost(memoryLimit)).report()
try FileManager.default.removeItem(at: folder)
other.end()
upstream.stop()
exit(most > memoryLimit ? 1 : 0)
