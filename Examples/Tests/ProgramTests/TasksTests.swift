import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.timeLimit(.minutes(3))) struct TasksTests {
    private static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
        .data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    private func server() async throws -> TestServer {
        try await TestServer.start { request in
            if request.path == "/v1/login" {
                guard request.bodyText.contains("secret") else {
                    return Self.json(#"{"title": "refused", "detail": "the password is wrong"}"#, status: 401)
                }
                return Self.json(#"{"access": "a1", "refresh": "r1", "expiresIn": 3600}"#)
            }
            guard request.headers["Authorization"] == "Bearer a1" else { return .status(401) }
            switch (request.method, request.target) {
            case (.get, "/v1/tasks"): return Self.json(#"[{"id": 1, "title": "wash"}]"#, headers: ["Link": "<tasks?page=2>; rel=next"])
            case (.get, "/v1/tasks?page=2"): return Self.json(#"[{"id": 2, "title": "dry"}]"#)
            case (.post, "/v1/tasks"): return Self.json(#"{"id": 3, "title": "fold"}"#, status: 201)
            case (.post, "/v1/tasks/3/attachments"): return Self.json(#"{"name": "note.txt", "size": 5}"#, status: 201)
            default: return .status(404)
            }
        }
    }

    private func run(_ words: [String], at server: TestServer, password: String = "secret") async throws -> (code: Int32?, program: Program)
    {
        let environment = ["TASKS_USER": "ada", "TASKS_PASSWORD": password]
        return try await ProgramTests.run("tasks", ["--base-url", "\(server.url)/v1"] + words, environment: environment)
    }

    @Test("lists all pages, adds a task and attaches a file")
    func commands() async throws {
        let server = try await server()
        let list = try await run(["list"], at: server)
        #expect(list.code == 0)
        #expect(list.program.output == "1\twash\n2\tdry\n")
        #expect(try await run(["add", "fold"], at: server).program.output == "added 3\n")
        try await withFolder { folder in
            let file = folder.appending(path: "note.txt")
            try Data("12345".utf8).write(to: file)
            let (code, program) = try await run(["attach", "3", file.path], at: server)
            #expect(code == 0, "\(program.errors)")
            #expect(program.output == "attached note.txt, 5 bytes\n")
            #expect(server.requests.last?.bodyText.contains("12345") == true)
        }
    }

    @Test("a wrong password exits with code 1 and prints the API's own message, without the password")
    func wrongPassword() async throws {
        let server = try await server()
        let (code, program) = try await run(["list"], at: server, password: "guessed")
        #expect(code == 1)
        #expect(program.errors.hasPrefix("tasks: the password is wrong\n"))
        #expect(!program.errors.contains("guessed"))
    }

    @Test("an unknown command exits with code 2, before anything is sent")
    func unknownCommand() async throws {
        let server = try await server()
        #expect(try await run(["list", "more"], at: server).code == 2)
        #expect(server.requestCount == 0)
    }
}
