import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.inTurn) struct PMHTTPMigration {
    @Test func environment() {
        let (ness, _) = exampleManager()
        // example: Set the server that relative paths belong to
        ness.environment = ServerEnvironment(baseURL: URL(string: "https://api.example.com/v1"))
        // end
        #expect(ness.environment.baseURL?.path == "/v1")
    }

    @Test func json() async throws {
        let (ness, _) = exampleManager()
        // example: GET JSON into a type; the closure runs on the main thread
        let task = ness.httpRequest(.get, withUrl: "users/1").dataRequest(decoding: User.self)
            .then(onMain: { user in print(user.name) })
            .handle { error in print(error) }
        // end
        try await task.value
    }

    @Test func formBody() async throws {
        let (ness, mock) = exampleManager()
        // example: POST parameters as a form
        let task = ness.httpRequest(.post, withUrl: "users").set(form: ["name": "Ada", "tags": ["a", "b"]]).dataRequest()
        // end
        _ = try await task.value
        #expect(mock.requests.first?.body?.data == Data("name=Ada&tags=a&tags=b".utf8))
    }

    @Test func multipart() async throws {
        let (ness, mock) = exampleManager()
        let jpeg = Data([1, 2, 3])
        // example: Upload parts
        var form = MultipartForm()
        form.append("Ada", named: "name")
        form.append(jpeg, named: "photo", fileName: "a.jpg", contentType: "image/jpeg")
        let task = ness.httpRequest(.post, withUrl: "users").set(multipart: form).dataRequest()
        // end
        _ = try await task.value
        #expect(mock.requests.first?.body?.headers["Content-Type"]?.hasPrefix("multipart/form-data") == true)
    }

    @Test func failures() async {
        let (ness, _) = exampleManager()
        let task = ness.httpRequest(withUrl: "missing").dataRequest(decoding: User.self)
        // example: Tell a refusal from a drop
        do {
            print(try await task.value)
        } catch NessError.validation(let context) {
            print(context.response?.statusCode ?? 0)
        } catch NessError.dropped {
            print("dropped")
        } catch { print(error) }
        // end
        await #expect(throws: NessError.self) { _ = try await task.value }
    }

    @Test func policies() async throws {
        let (_, mock) = exampleManager()
        let login: @Sendable () async throws -> String = { "fresh" }
        let savedToken = "stale"
        // example: Credentials that are refreshed once for all, and retries for what may be sent twice
        let ness = Ness {
            $0.authentication = RefreshableAuthentication(credential: savedToken) {
                ["Authorization": "Bearer \($0)"]
            } refresh: { _, _ in
                try await login()
            }
            $0.retryControl = BackoffRetryControl(maxRetryCount: 2)
            $0.transport = mock  // in this test
            $0.baseURL = URL(string: "https://api.example.com")
        }
        // end
        let user = try await ness.httpRequest(withUrl: "private").dataRequest(decoding: User.self).value
        #expect(user.name == "Ada")
    }

    @Test func mocks() async throws {
        // example: Mock a route, and one request
        let mock = MockTransport()
        mock.on(.get, "/users/:id") { .json(User(id: Int($0.pathParameters["id"] ?? "") ?? 0, name: "Ada")) }
        let ness = Ness {
            $0.transport = mock; $0.baseURL = URL(string: "https://mock.test")
        }
        let one = ness.httpRequest(withUrl: "users").mock(.json([User(id: 2, name: "Bob")]))
        // end
        #expect(try await ness.httpRequest(withUrl: "users/7").dataRequest(decoding: User.self).value.id == 7)
        #expect(try await one.dataRequest(decoding: [User].self).value.first?.id == 2)
    }

    @Test func activity() async throws {
        // example: Count what runs, for an indicator
        let counter = ActivityCounter(onMain: { count in print(count == 0 ? "idle" : "busy") })
        let ness = Ness { $0.observers = [counter] }
        // end
        _ = try await ness.httpRequest(withUrl: "https://api.example.com/users").mock(.status(200)).dataRequest().value
        #expect(counter.count == 0)
    }
}
