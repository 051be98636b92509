// Downloads and uploads of a large file: throughput, and the peak memory of the whole process. Each runs in a separate process, in turn
// with the programs that it is compared with: curl, AsyncHTTPClient, and a URLSession delegate task that writes to a file.
//   swift run -c release --package-path Benchmarks transfer [--transport curl|urlsession] [--long] [MEBIBYTES]
// A slow reader and a slow disk take 30 MB a second of 150 MB; of 3 GB with `--long`. Fails if Ness takes too much memory.
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
print("engine: \(engine.makeTransport())\nserver of downloads: \(upstream.name); of the rest: TestServer in a separate process")
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ness-transfer-\(UUID().uuidString)", isDirectory: true)
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
let source = folder.appendingPathComponent("source").path
_ = FileManager.default.createFile(atPath: source, contents: nil)
let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: source))
for _ in 0..<mebibytes { try writer.write(contentsOf: Data(repeating: 7, count: 1 << 20)) }
try writer.close()

/// Runs a part in a separate process, and returns its seconds and its peak memory in MiB, if that is known.
func run(_ role: String, _ size: Int) throws -> (seconds: Double, peak: Double?) {
    let file = folder.appendingPathComponent("file").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let path = role.hasPrefix("segments") ? "limited/" : ""
    let url = role.hasSuffix("download") && !role.hasPrefix("slow") ? upstream.url.absoluteString + "/file" : "\(otherURL)/\(path)\(size)"
    if role.hasPrefix("curl") {
        let process = Process()
        process.executableURL = findProgram("curl").map { URL(fileURLWithPath: $0) }
        let isUpload = role == "curl-upload"
        process.arguments = ["--silent", "--fail", isUpload ? "--upload-file" : "--output", isUpload ? source : file, url]
        let start = ContinuousClock.now
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(reason: "curl failed with \(process.terminationStatus)") }
        return ((ContinuousClock.now - start) / .seconds(1), nil)
    }
    let part = try ServerProcess.again([role, url, role.contains("upload") ? source : file, engine.rawValue])
    let line = part.firstLine()
    part.end()
    let numbers = line.split(separator: " ").compactMap { Double($0) }
    guard numbers.count == 2 else { throw Failed(reason: "\(role) printed \(line.debugDescription)") }
    return (numbers[0], numbers[1])
}

/// The peak memory of each contender.
var peaks: [(name: String, mebibytes: Double)] = []

/// Runs contenders in turn, so that all use the same disk, and reports their speeds. Keeps their peak memory under the name of the kind.
@MainActor func compare(_ question: String, _ kind: String?, _ size: Int, rounds: Int, _ contenders: [(name: String, role: String)]) throws
{
    var speeds = [[Double]](repeating: [], count: contenders.count), most = [Double?](repeating: nil, count: contenders.count)
    for _ in 0..<rounds {
        for (index, contender) in contenders.enumerated() {
            let result = try run(contender.role, size)
            speeds[index].append(Double(size) / result.seconds)
            most[index] = result.peak.map { max($0, most[index] ?? 0) }
            showProgress(".")
        }
    }
    showProgress("\n")
    for (index, contender) in contenders.enumerated() {
        if let kind, let peak = most[index] { peaks.append(("\(contender.name), \(kind)", peak)) }
        try Measured(question, "MiB per second", .more, contender.name, speeds[index]).report()
    }
}
let hasCurl = findProgram("curl") != nil
let size = mebibytes == 1_024 ? "1 GiB" : "\(mebibytes) MiB"
let downloads = [("Ness", "download"), ("AsyncHTTPClient", "async-http-client-download"), ("URLSession", "urlsession-download")]
try compare("Download of \(size) to a file", "download", mebibytes, rounds: 5, (hasCurl ? [("curl -o", "curl-download")] : []) + downloads)
let uploads = [("Ness", "upload"), ("URLSession", "urlsession-upload")]
try compare("Upload of \(size) from a file", "upload", mebibytes, rounds: 3, (hasCurl ? [("curl -T", "curl-upload")] : []) + uploads)
let slowSize = isLong ? 2_861 : 143
for (name, role) in [("disk", "slow-download"), ("reader", "slow-reader")] {
    peaks.append(("Ness, a \(name) that takes 30 MB/s", try run(role, slowSize).peak ?? 0))
}
try compare(
    "Download from a server that limits each connection to 4 MB/s", nil, 16, rounds: 2,
    [("Ness, one connection", "segments-1"), ("Ness, four segments", "segments-4")])
for (name, peak) in peaks { try Measured("Peak memory of the process of a transfer", "MiB", .less, name, [peak]).report() }
let most = peaks.filter { $0.name.hasPrefix("Ness") }.map(\.mebibytes).max() ?? 0
try FileManager.default.removeItem(at: folder)
other.end()
upstream.stop()
exit(most > memoryLimit ? 1 : 0)
