import Foundation
import NessHTTP
import NessLock
import NessTesting
import Testing

/// The events that a mock reported for one exchange.
struct MockEvents: Sendable {
    var sent: [Int64] = []
    var heads: [Int] = []
    var headers = HTTPHeaders()
    var pieces: [String] = []
}

extension MockTransport {
    /// Sends a request to the mock without a pipeline.
    func events(_ method: HTTPMethod = .get, _ text: String = "https://mock.test/x", body: HTTPBody? = nil) async throws -> MockEvents {
        let request = HTTPRequest(method, url: try #require(URL(string: text)), body: body)
        let events = Lock(MockEvents())
        try await send(request) { event in
            events.withLock { events in
                switch event {
                case .sent(let count): events.sent.append(count)
                case .connection, .interim, .trailers: break
                case .head(let status, let headers):
                    events.heads.append(status)
                    events.headers = headers
                case .body(let data): events.pieces.append(String(decoding: data, as: UTF8.self))
                }
            }
        }
        return events.withLock { $0 }
    }

    /// Returns the body of the reply to a GET, or "unmatched".
    func answer(_ text: String, _ method: HTTPMethod = .get) async throws -> String {
        do {
            return try await events(method, text).pieces.joined()
        } catch is UnmatchedRequest {
            return "unmatched"
        }
    }
}

/// Makes a manager whose transport is a mock.
func mocked(_ mock: any Transport, configure: (inout Ness.Configuration) -> Void = { _ in }) -> Ness {
    Ness { configuration in
        configuration.transport = mock
        configuration.baseURL = URL(string: "https://mock.test")
        configure(&configuration)
    }
}

/// Opens a gate when it is released.
final class Witness: Sendable {
    private let gone: TestGate

    init(_ gone: TestGate) { self.gone = gone }

    deinit { gone.open() }
}
