import Testing

@Suite struct ArgumentTests {
    @Test("--help prints the usage", arguments: ["chat", "mirror", "tasks"])
    func help(name: String) async throws {
        let (code, program) = try await run(name, ["--help"])
        #expect(code == 0)
        #expect(program.output.hasPrefix("usage: \(name) "))
        #expect(program.errors.isEmpty)
    }

    @Test("wrong arguments exit with code 2 and print what is wrong", arguments: ["chat", "mirror", "tasks"])
    func wrongOption(name: String) async throws {
        let (code, program) = try await run(name, ["--wrong"])
        #expect(code == 2)
        #expect(program.errors.hasPrefix("\(name): --wrong is not an option\n"))
        #expect(program.output.isEmpty)
    }

    @Test("a missing key, user or list exits with code 2")
    func missing() async throws {
        let chat = try await run("chat", ["Hello"])
        #expect((chat.code, chat.program.errors) == (2, "chat: OPENAI_API_KEY is not set\n"))
        let tasks = try await run("tasks", ["list"])
        #expect((tasks.code, tasks.program.errors) == (2, "tasks: TASKS_USER and TASKS_PASSWORD have to be set\n"))
        let mirror = try await run("mirror", ["/no/such/list", "/tmp"])
        #expect((mirror.code, mirror.program.errors) == (2, "mirror: /no/such/list cannot be read\n"))
    }
}
