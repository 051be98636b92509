import Foundation
import NessHTTP
import NessTesting

struct User: Codable, Sendable, Equatable {
    let id: Int
    let name: String
}

/// Returns a manager over a mock that answers the requests of the guide's examples.
func exampleManager(_ configure: (inout Ness.Configuration) -> Void = { _ in }) -> (Ness, MockTransport) {
    let mock = MockTransport()
    let ada = User(id: 1, name: "Ada")
    mock.on(.get, "/users/:id") { _ in .json(ada) }
    mock.on(.get, "/users") { _ in .json([ada]) }
    mock.on(.post, "/users") { _ in .json(ada, status: 201) }
    mock.on(.get, "/missing") { _ in .status(404) }
    mock.on(.get, "/private") { $0.headers["Authorization"] == "Bearer fresh" ? .json(ada) : .status(401) }
    mock.on(.post, "/login") { _ in .text("fresh") }
    let ness = Ness {
        $0.transport = mock
        $0.clock = ManualClock(advancesAutomatically: true)
        $0.baseURL = URL(string: "https://api.example.com/")
        configure(&$0)
    }
    return (ness, mock)
}
