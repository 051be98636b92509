#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Look-ups of names whose resolver a test controls.
@Suite struct NameResolverTests {
    /// A resolver that answers when the test says so. It blocks threads, as the system's does.
    private final class Slow: Sendable {
        let begun = Log<String>()
        private let gate = DispatchSemaphore(value: 0)

        func find(_ name: String) -> Result<[String], NameResolver.Failure> {
            begun.add(name)
            gate.wait()
            return .success(["192.0.2.\(name.count)"])
        }

        func answer(_ count: Int = 1) { for _ in 0..<count { gate.signal() } }
    }

    @Test("callers of one name share a look-up, and all get its result, except a caller that has left")
    func shared() async {
        let slow = Slow(), resolver = NameResolver(threadLimit: 4, find: slow.find), results = Log<[String]>()
        let tickets = (0..<3).map { _ in resolver.lookUp("a.test") { results.add((try? $0.get()) ?? []) } }
        await slow.begun.wait(for: 1)
        resolver.leave(tickets[1])
        slow.answer()
        await results.wait(for: 2)
        #expect(slow.begun.entries == ["a.test"] && results.entries == [["192.0.2.6"], ["192.0.2.6"]])
    }

    @Test("the number of concurrent look-ups is limited, in order; a name whose callers have left is not looked up")
    func limit() async {
        let slow = Slow(), resolver = NameResolver(threadLimit: 2, find: slow.find), results = Log<[String]>()
        let names = ["a", "bb", "ccc", "dddd"]
        let tickets = names.map { name in resolver.lookUp(name) { results.add((try? $0.get()) ?? []) } }
        await slow.begun.wait(for: 2)
        resolver.leave(tickets[2])
        slow.answer()
        await slow.begun.wait(for: 3)
        slow.answer(2)
        await results.wait(for: 3)
        #expect(Set(slow.begun.entries.prefix(2)) == ["a", "bb"] && slow.begun.entries.dropFirst(2) == ["dddd"])
    }

    @Test("the system's names are found with the addresses of both families, and an unknown one is an error")
    func system() async throws {
        func find(_ name: String) async -> Result<[String], NameResolver.Failure> {
            await withCheckedContinuation { continuation in _ = NameResolver.shared.lookUp(name) { continuation.resume(returning: $0) } }
        }
        #expect(try await find("localhost").get().contains("127.0.0.1"))
        await #expect(throws: NameResolver.Failure.self) { try await find("no-such-host.invalid").get() }
    }

    @Test("libcurl gets the addresses of a name with and without a dot at its end, and none that it cannot read")
    func lines() {
        var names = CurlNames()
        let name = CurlNames.Name(host: "a.test.", port: 80)
        #expect(names.take([nil, name]) == name)
        let lines = names.lines(["192.0.2.1", "2001:db8::1", "fe80::1%eth0"], of: name) ?? ""
        #expect(Set(lines.split(separator: "\0")) == ["+a.test.:80:192.0.2.1,[2001:db8::1]", "+a.test:80:192.0.2.1,[2001:db8::1]"])
        #expect(names.lines(["fe80::1%eth0"], of: name) == nil)
        // Each name is looked up once. Then libcurl does it, rather than never.
        #expect(names.take([name]) == nil)
        let may = names.mayLookUp { false }
        #expect(may && !names.isNeeded)
        #expect(CurlNames.Name(host: "[::1]", port: 1).knownAddresses == ["::1"])
        #expect(CurlNames.Name(host: "x.localhost", port: 1).knownAddresses == ["127.0.0.1", "::1"])
        #expect(CurlNames.Name(host: "a.test", port: 1).knownAddresses == nil)
    }

    @Test(
        "the host and the port of a proxy are read as libcurl reads them",
        arguments: [
            ("proxy.test", "proxy.test", 1080), ("http://Proxy.Test:3128/", "proxy.test", 3128), ("https://proxy.test", "proxy.test", 443),
            ("socks5://me:p@ss@proxy.test:1", "proxy.test", 1), ("http://me:p/ss@proxy.test:1/", "proxy.test", 1),
            ("http://[::1]:3128", "[::1]", 3128), ("http://[::1]", "[::1]", 1080),
        ])
    func proxy(text: String, host: String, port: Int) {
        #expect(CurlNames.Name(ofProxy: text) == CurlNames.Name(host: host, port: port))
    }
}
#endif
