import Foundation
import NessHTTP
import NessTesting

/// The tour: starts a server on this machine and does the main job against it, saying what it does and what it received.
enum Tour {
    struct Cat: Codable, Sendable {
        let id: Int
        let name: String
    }

    static func run() async throws {
        let (isHeld, release) = Promise<Void>.pending()
        let server = try await TestServer.start { request in try await answer(request, isHeld) }
        print("A server runs at \(server.url), in this process, on a real socket.\n")
        let ness = Ness { $0.baseURL = server.url }

        print("1. GET with parameters, a validator, and a decoder in one chain:")
        let greeting = try await ness.httpRequest(.get, withUrl: "cats")
            .set(urlParameters: ["q": "cute & fluffy", "limit": 2])
            .validate(statusCodes: 200..<300)
            .dataRequest()
            .then { result -> [Cat] in
                print("   the server received a request for \(result.message.url.absoluteString)")
                return try result.message.parseJSONBody()
            }
            .then { cats -> String in cats.map { "\($0.name) (\($0.id))" }.joined(separator: ", ") }
            .value
        print("   it knows: \(greeting)\n")

        print("2. POST of JSON, decoded straight into a value:")
        let created = try await ness.httpRequest(.post, withUrl: "cats")
            .set(jsonBody: ["name": "Fluffles", "tags": ["tabby", 3, true]])
            .dataRequest(decoding: Cat.self)
            .value
        print("   the server made cat number \(created.id), \(created.name)\n")

        print("3. An error. A status is a result until a validator says otherwise; then the error alone tells the story:")
        _ = await ness.httpRequest(.get, withUrl: "cats/99?token=s3cret")
            .set(headers: ["Authorization": "Bearer s3cret"])
            .validate(statusCodes: 200..<300)
            .dataRequest()
            .then { _ in print("   this line is never printed") }
            .handle { error in print("   \(error)") }
            .settled
        print()

        print("4. A drop. The server delays its response; we lose patience:")
        let slow = ness.httpRequest(.get, withUrl: "slow").dataRequest()
        await server.waitUntil { $0.requestCount == 4 }
        print("   before: \(words(slow.status))")
        slow.drop()
        print("   after:  \(words(slow.status))")
        _ = await slow.handle { error in print("   \(error)") }.settled
        await server.waitUntil { $0.busyConnections == 0 }
        print("   and the server saw it end\n")

        release.resolve(())
        await server.stop()
        print("That is the main job. `ness-demo URL` sends a GET to wherever you like.")
    }

    @Sendable private static func answer(_ request: ReceivedRequest, _ isHeld: Promise<Void>) async throws -> Reply {
        switch (request.method, request.path) {
        case (.get, "/cats"): .json([Cat(id: 1, name: "Tom"), Cat(id: 2, name: "Felix")])
        case (.post, "/cats"): .json(Cat(id: 3, name: try request.decodeJSON(JSONValue.self)["name"]?.stringValue ?? "?"), status: 201)
        case (.get, "/slow"): try await isHeld.then { _ in Reply.text("at last") }.value
        default: .json(["error": "no such cat"], status: 404)
        }
    }

    private static func words(_ status: RequestStatus) -> String {
        switch status {
        case .idle: "not started"
        case .running(let fraction): "running, \(Int(fraction * 100)) % done"
        case .dropped: "dropped"
        case .completed(let response): "completed with \(response.statusCode)"
        case .error: "failed"
        }
    }
}
