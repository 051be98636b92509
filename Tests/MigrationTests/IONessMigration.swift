import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.inTurn) struct IONessMigration {
    @Test func chain() async throws {
        let (ness, mock) = exampleManager()
        // example: Build a request, send it, decode the answer on the way and show it on the main thread
        let shown = ness.httpRequest(.get, withUrl: "users/1")
            .set(urlParameters: ["fields": "name"])
            .set(headers: ["X-Client": "guide"])
            .validate(statusCodes: 200..<300)
            .dataRequest()
            .then { result -> User in try result.message.parseJSONBody() }
            .then(onMain: { user in print(user.name) })
            .handle { error in print(error) }
        // end
        try await shown.value
        #expect(mock.requests.first?.headers["X-Client"] == "guide")
    }

    @Test func body() async throws {
        let (ness, mock) = exampleManager()
        let user = User(id: 1, name: "Ada")
        // example: Send JSON, and try up to three more times, a second apart
        let made = ness.httpRequest(.post, withUrl: "users")
            .set(jsonEncodable: user)
            .dataRequest(with: CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: 1))
        // end
        #expect(try await made.value.message.statusCode == 201)
        #expect(mock.requests.first?.body?.headers["Content-Type"] == "application/json")
    }

    // example: A retry policy of your own
    struct OnlyServerErrors: RetryControl {
        func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
            (attempt.response?.statusCode ?? 0) >= 500 && attempt.number < 3 ? .retryAfter(1) : .noRetry
        }
    }
    // end

    @Test func ownRetry() async throws {
        let (ness, mock) = exampleManager()
        mock.on(.get, "/busy", replies: [.status(503), .status(200)])
        let promise = ness.httpRequest(withUrl: "busy").validate(statusCode: 200).dataRequest(with: OnlyServerErrors())
        #expect(try await promise.value.message.statusCode == 200)
    }

    // example: A validator of your own
    struct HasBody: ResponseValidator {
        func validate(for response: HTTPResponse) -> ResponseValidatorResult {
            response.body.isEmpty ? .invalidWithReason("there is no body") : .valid
        }
    }
    // end

    @Test func ownValidator() async throws {
        let (ness, _) = exampleManager()
        let promise = ness.httpRequest(withUrl: "missing").validate(using: HasBody()).dataRequest()
        await #expect(throws: NessError.self) { _ = try await promise.value }
    }

    // example: A decoder of your own
    struct NameDecoder: ResponseDecoder {
        func decode(from data: Data) throws -> String { try JSONDecoder().decode(User.self, from: data).name }
    }
    // end

    @Test func ownDecoder() async throws {
        let (ness, _) = exampleManager()
        let name = try await ness.httpRequest(withUrl: "users/1").dataRequest().value.message.parseBody(using: NameDecoder())
        #expect(name == "Ada")
    }

    @Test func duplicates() async throws {
        // example: Say what becomes of equal requests that run at once
        let ness = Ness(onDuplicated: .keepLatestCompletion)
        // end
        #expect(ness.duplicatedHandler as? DefaultDuplicatedHandler == .keepLatestCompletion)
    }

    func transfers(ness: Ness, photo: URL, film: URL) {
        // example: Send a file, save a file, and look how far it has come
        ness.httpRequest(.put, withUrl: "photos/1").uploadRequest(forFileLocation: photo)
        let download = ness.httpRequest(.get, withUrl: "films/1").downloadRequest(forSavedLocation: film)
        download.onProgress { print($0.fractionCompleted ?? 0) }
        download.pause()
        download.resume()
        // end
    }

    @Test func promises() async throws {
        let (ness, _) = exampleManager()
        let first = ness.httpRequest(withUrl: "users/1").dataRequest(decoding: User.self)
        // example: Continue with another request, wait for several, and always clean up (Ergo)
        let next = first.thenContinue { user in ness.httpRequest(withUrl: "users/\(user.id)").dataRequest(decoding: User.self) }
        let both = Promise.all(first, next).then { pair in pair.0.id == pair.1.id }
            .finally { _, _ in print("done") }
        // end
        #expect(try await both.value)
    }

    func dropping(ness: Ness) {
        // example: Let go of a request
        let promise = ness.httpRequest(.get, withUrl: "users").dataRequest()
        promise.drop()
        // end
    }
}
