#if os(Linux)
import Foundation
import NessTesting
import Testing

/// A server that rows share. It is started once, when the first row needs it.
protocol SharedServer: Sendable {
    /// Starts the server, with its files in a folder.
    static func start(in folder: URL) async throws -> Self
    var process: ServerProcess { get }
}

/// The shared servers of a run.
actor Servers {
    /// The servers of the current run.
    @TaskLocal fileprivate static var current: Servers?

    private let folder = URL(filePath: "/tmp/ness-interop-\(UUID().uuidString.prefix(8))")
    private var started: [ObjectIdentifier: Task<any SharedServer, any Error>] = [:]

    /// Returns a shared server, and starts it if no row has needed it before.
    static func get<Server: SharedServer>(_ type: Server.Type = Server.self) async throws -> Server {
        guard let server = try await current?.server(type) as? Server else {
            throw ServerFailure(description: "the row lies outside of `Interop`")
        }
        return server
    }

    private func server<Server: SharedServer>(_ type: Server.Type) async throws -> any SharedServer {
        if let running = started[ObjectIdentifier(type)] { return try await running.value }
        let folder = folder.appending(path: "\(type)")
        let starting = Task<any SharedServer, any Error> {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return try await Server.start(in: folder)
        }
        started[ObjectIdentifier(type)] = starting
        return try await starting.value
    }

    /// Ends all servers, and removes their files.
    fileprivate func stop() async {
        for starting in started.values { await (try? starting.value)?.process.stop() }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Runs a closure with servers that are ended afterwards.
    fileprivate static func run(_ body: () async throws -> Void) async throws {
        let servers = Servers()
        let result: Result<Void, any Error>
        do { result = .success(try await $current.withValue(servers, operation: body)) } catch { result = .failure(error) }
        await servers.stop()
        try result.get()
    }
}

/// Ends the shared servers after the last row of a suite.
struct EndsServers: SuiteTrait, TestScoping {
    // Not recursive: the scope is the whole suite, not each of its tests.
    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await Servers.run(function)
    }
}

extension Trait where Self == EndsServers {
    /// Ends the shared servers after the last row of a suite.
    static var endsServers: EndsServers { EndsServers() }
}
#endif
