import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport

/// A model of a server of tus, as a transport: what it keeps of a body, and how it fails, is scripted.
final class TusModel: Transport {
    /// Replaces the usual response to one request of a method.
    enum Fault: Sendable {
        /// Keeps some bytes of the body, then loses the connection.
        case loses(after: Int)
        /// Keeps the whole body, then loses the connection before the response.
        case losesResponse
        /// Responds with a status.
        case answers(Int, HTTPHeaders = [:])
        /// Responds as usual, but with other fields. An empty value removes a field.
        case changes(HTTPHeaders)
        /// Keeps some bytes of the body, and waits for the end of the exchange.
        case hangs(after: Int)
        /// Responds as usual, after a closure.
        case after(@Sendable () async -> Void)
    }

    struct State: Sendable {
        var bytes = Data()
        var length: Int?
        var creations = 0
        var log: [String] = []
        var requests: [HTTPRequest] = []
        var faults: [(method: HTTPMethod, fault: Fault)] = []
        var location = "/files/1"
    }

    let state = Lock(State())
    let isHanging = Log<Int>()

    init(_ faults: (HTTPMethod, Fault)...) { state.withLock { $0.faults = faults.map { (method: $0.0, fault: $0.1) } } }

    var bytes: Data { state.withLock { $0.bytes } }
    var log: [String] { state.withLock { $0.log } }
    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    func add(_ method: HTTPMethod, _ fault: Fault) { state.withLock { $0.faults.append((method, fault)) } }

    /// A manager that sends everything here.
    func ness(_ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Ness {
        Ness { configuration in
            configuration.transport = self
            configuration.baseURL = URL(string: "https://files.test")
            configuration.clock = ManualClock(advancesAutomatically: true)
            configuration.retryControl = CounterRetryControl(maxRetryCount: 1)
            configure(&configuration)
        }
    }

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        let offset = request.headers["Upload-Offset"].map { " \($0)" } ?? ""
        let fault: Fault? = state.withLock { state in
            state.log.append("\(request.method)\(offset)")
            state.requests.append(request)
            guard let index = state.faults.firstIndex(where: { $0.method == request.method }) else { return nil }
            return state.faults.remove(at: index).fault
        }
        var body = Data()
        if let reader = request.body?.makeReader() {
            while case let chunk = try await reader.next(upTo: 1 << 16), !chunk.isEmpty {
                body += chunk
                try await receive(.sent(Int64(body.count)))
            }
        }
        var (status, headers) = (0, HTTPHeaders())
        switch fault {
        case .answers(let answer, let fields):
            try await receive(.head(statusCode: answer, headers: fields))
            return
        case .loses(let count):
            _ = answer(request, body.prefix(count))
            throw TransportError(.connectionLost, "lost on purpose")
        case .hangs(let count):
            _ = answer(request, body.prefix(count))
            isHanging.add(count)
            await TestGate().wait()
            throw CancellationError()
        case .losesResponse:
            _ = answer(request, body)
            throw TransportError(.connectionLost, "lost on purpose")
        case .after(let closure):
            await closure()
            (status, headers) = answer(request, body)
        case .changes(let fields):
            (status, headers) = answer(request, body)
            for field in fields { headers[field.name] = field.value.isEmpty ? nil : field.value }
        case nil: (status, headers) = answer(request, body)
        }
        try await receive(.head(statusCode: status, headers: headers))
    }

    private func answer(_ request: HTTPRequest, _ body: Data) -> (Int, HTTPHeaders) {
        state.withLock { state in
            switch request.method {
            case .post:
                state.creations += 1
                (state.bytes, state.length) = (Data(body), request.headers["Upload-Length"].flatMap { Int($0) })
                return (201, ["Location": state.location, "Upload-Offset": "\(body.count)"])
            case .head where state.length != nil:
                return (200, ["Upload-Offset": "\(state.bytes.count)", "Upload-Length": "\(state.length ?? 0)"])
            case .patch where state.length != nil:
                guard request.headers["Upload-Offset"] == "\(state.bytes.count)" else { return (409, [:]) }
                state.bytes += body
                return (204, ["Upload-Offset": "\(state.bytes.count)"])
            case .delete where state.length != nil:
                state.length = nil
                return (204, [:])
            default: return (404, [:])
            }
        }
    }

    /// Forgets the upload.
    func forget() { state.withLock { ($0.length, $0.bytes) = (nil, Data()) } }
}

/// Runs a closure with a file of some bytes in a new folder.
func withUpload(_ count: Int = 100, _ body: (URL, Data) async throws -> Void) async throws {
    try await withFolder { folder in
        let file = folder.appendingPathComponent("film.mov"), bytes = patternedData(count)
        try bytes.write(to: file)
        try await body(file, bytes)
    }
}
