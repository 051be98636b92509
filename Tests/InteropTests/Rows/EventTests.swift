#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Server-sent events of a Node server that is killed.
    @Suite(.needs(.node)) struct EventTests {
        @Test("a GET reconnects to a server that is back, and continues after the last event", arguments: Wire.allCases)
        func get(wire: Wire) async throws {
            try await withFolder { folder in
                let node = try await Node.start(in: folder, port: nil), ness = try wire.ness()
                var events: [String] = []
                for try await event in ness.httpRequest(withUrl: node.at("/events")).reconnectingEvents() {
                    events.append(event.id ?? "")
                    if events.count == 2 { try await node.process.restart() }
                    if events.count == 4 { break }
                }
                #expect(events == ["1", "2", "3", "4"])
                let seen = try await ness.httpRequest(withUrl: node.at("/last-event-ids")).decoded(as: [String?].self)
                #expect(seen == ["2"])
                await node.process.stop()
            }
        }

        @Test("a POST is not sent again when its server is killed: the sequence fails", arguments: Wire.allCases)
        func post(wire: Wire) async throws {
            try await withFolder { folder in
                let node = try await Node.start(in: folder, port: nil), ness = try wire.ness()
                let received = Log<String>()
                let error = await #expect(throws: NessError.self) {
                    for try await event in ness.httpRequest(.post, withUrl: node.at("/events")).set(stringBody: "{}").reconnectingEvents() {
                        received.add(event.id ?? "")
                        if received.entries.count == 2 { try await node.process.restart() }
                    }
                }
                #expect(received.entries == ["1", "2"])
                #expect([.connectionLost, .truncated].contains(error?.kind), "\(String(describing: error))")
                let seen = try await ness.httpRequest(withUrl: node.at("/last-event-ids")).decoded(as: [String?].self)
                #expect(seen.isEmpty)
                await node.process.stop()
            }
        }
    }
}
#endif
