import Foundation
import NessHTTP
import NessLock
import NessTesting
import Testing

@Suite(.inTurn) struct FlexNetworkingMigration {
    @Test func asynchronous() async throws {
        let (ness, _) = exampleManager()
        // example: Ask, and look at the status on the main thread
        let answer = ness.httpRequest(.get, withUrl: "users").set(urlParameters: ["page": 1]).dataRequest()
            .then(onMain: { result in print(result.message.statusCode, result.message.text) })
            .handle(onMain: { error in print(error) })
        // end
        try await answer.value
    }

    func synchronous(ness: Ness) throws {
        // example: Ask and wait, in a script
        let text = try ness.httpRequest(.get, withUrl: "users").dataRequest().wait(timeout: .seconds(30)).message.text
        // end
        print(text)
    }

    @Test func codable() async throws {
        let (ness, _) = exampleManager()
        // example: Send one type, get another
        let made = ness.httpRequest(.post, withUrl: "users").set(jsonEncodable: ["name": "Ada"]).dataRequest(decoding: User.self)
        // end
        #expect(try await made.value.name == "Ada")
    }

    @Test func hooks() async throws {
        let (other, mock) = exampleManager()
        let token = Lock("stale")
        // example: A hook before each request signs it; one behind each response logs in after a 401 and goes again.
        let ness = Ness {
            $0.loaders = [
                .followUp { response in
                    guard response.statusCode == 401 else { return .accept }
                    let fresh = try await other.httpRequest(.post, withUrl: "login").dataRequest().value.message.text
                    token.withLock { $0 = fresh }
                    return .retry
                },
                .modifyRequest { request in request.headers["Authorization"] = "Bearer \(token.withLock { $0 })" },
            ]
            $0.transport = mock  // in this test
            $0.baseURL = URL(string: "https://api.example.com")
        }
        // end
        #expect(try await ness.httpRequest(withUrl: "private").dataRequest(decoding: User.self).value.name == "Ada")
    }

    @Test func errors() async {
        let (ness, _) = exampleManager()
        let request = ness.httpRequest(withUrl: "users").mock(.failure(.offline))
        // example: Tell the errors apart
        let answer = request.dataRequest().handle { error in
            switch error as? NessError {
            case .offline: print("no internet")
            case .dropped: print("cancelled")
            case .timedOut: print("too slow")
            default: print(error)
            }
        }
        // end
        await #expect(throws: NessError.self) { _ = try await answer.value }
    }
}
