import AsyncHTTPClient
import Foundation
import NessHTTP
import NessTesting
import Upstream

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Does the work of one process, and prints its seconds and its peak memory in MiB.
func play(_ role: String, _ arguments: [String]) async throws {
    if role == "serve" { try await serve() }
    guard arguments.count == 3, let url = URL(string: arguments[0]), let engine = Engine(rawValue: arguments[2]) else {
        throw Failed(reason: "usage: transfer ROLE URL FILE TRANSPORT")
    }
    let file = URL(fileURLWithPath: arguments[1])
    let transport = engine.makeTransport()
    let ness = Ness { $0.transport = role == "slow-download" ? SlowTransport(wrapped: transport) : transport }
    let request = ness.httpRequest(role == "upload" ? .put : .get, withUrl: url)
    let start = ContinuousClock.now
    switch role {
    case "download", "slow-download": _ = try await request.downloadRequest(forSavedLocation: file).value
    case "segments-1", "segments-4":
        _ = try await request.downloadRequest(forSavedLocation: file, segments: role.hasSuffix("4") ? 4 : 1).value
    case "slow-reader":
        let pace = Pace()
        for try await piece in request.streamRequest().chunks { try await pace.spend(on: piece.count) }
    case "upload": _ = try await request.uploadRequest(forFileLocation: file).value
    case "urlsession-download": try await Bare(file).get(url)
    case "urlsession-upload": try await Bare(file).put(url)
    case "async-http-client-download":
        let delegate = try FileDownloadDelegate(path: file.path)
        _ = try await HTTPClient.shared.execute(request: HTTPClient.Request(url: url.absoluteString), delegate: delegate).get()
    default: throw Failed(reason: "unknown role \(role)")
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("\(seconds) \(try peakMebibytes())")
}

/// Takes the time that a receiver of 30 MB a second needs.
actor Pace {
    private let start = ContinuousClock.now
    private var total = 0

    func spend(on byteCount: Int) async throws {
        total += byteCount
        try await Task.sleep(until: start + .seconds(1) * (Double(total) / 30e6))
    }
}

/// Returns the peak resident memory of this process, in MiB.
func peakMebibytes() throws -> Double {
    #if os(Linux)
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return line.split(separator: " ").compactMap { Double($0) }.first.map { $0 / 1_024 } ?? 0
    #else
    var usage = rusage()
    getrusage(RUSAGE_SELF, &usage)
    return Double(usage.ru_maxrss) / 1_048_576
    #endif
}

/// Serves the number of MiB that the path names, with ranges. Accepts uploads of any kind.
func serve() async throws -> Never {
    let piece = Data(repeating: 7, count: 1 << 20)
    let server = try await TestServer.start(recordsRequests: false) { request in
        guard request.method == .get, let last = request.path.split(separator: "/").last, let mebibytes = Int(last) else {
            return .status(204)
        }
        // Such a connection gives 4 MB per second.
        let isLimited = request.path.hasPrefix("/limited/")
        let whole = mebibytes << 20
        var range = 0..<whole, status = "200 OK"
        if let asked = request.headers["range"] {
            let ends = asked.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            range = (ends.first ?? 0)..<min(whole, (ends.count > 1 ? ends[1] : whole - 1) + 1)
            status = "206 Partial Content\r\nContent-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole)"
        }
        let head = "HTTP/1.1 \(status)\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\nContent-Length: \(range.count)\r\n\r\n"
        var steps: [ConnectionStep] = [.send(head)]
        var left = range.count
        let size = isLimited ? 64_000 : piece.count
        while left > 0 {
            steps.append(.sendData(piece.prefix(min(left, size))))
            if isLimited { steps.append(.delay(.milliseconds(16))) }
            left -= min(left, size)
        }
        return .script(steps + [.close])
    }
    ServerProcess.announce(server.url.absoluteString)
}

/// A transport whose receiver takes 30 MB a second, like a slow disk.
struct SlowTransport: Transport {
    let wrapped: any Transport

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        let pace = Pace()
        try await wrapped.send(request) { event in
            if case .body(let data) = event { try await pace.spend(on: data.count) }
            try await receive(event)
        }
    }
}

/// The download code of a program without a library: a delegate that writes to a file.
final class Bare: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let file: URL
    // The lock guards both variables below.
    private let lock = NSLock()
    private var handle: FileHandle?
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ file: URL) { self.file = file }

    func get(_ url: URL) async throws {
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let opened = try FileHandle(forWritingTo: file)
        lock.withLock { handle = opened }
        try await run { $0.dataTask(with: URLRequest(url: url)) }
    }

    func put(_ url: URL) async throws {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        try await run { [request, file] in $0.uploadTask(with: request, fromFile: file) }
    }

    private func run(_ makeTask: (URLSession) -> URLSessionTask) async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: queue)
        let task = makeTask(session)
        try await withCheckedThrowingContinuation { continuation in
            lock.withLock { self.continuation = continuation }
            task.resume()
        }
        session.finishTasksAndInvalidate()
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { try? handle?.write(contentsOf: data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let continuation = lock.withLock {
            try? handle?.close()
            return self.continuation
        }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
    }
}
