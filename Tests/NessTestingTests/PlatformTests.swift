import Foundation
import TestSupport
import Testing

@testable import NessTesting

/// The functions of the system that differ between Linux and Darwin.
@Suite(.inTurn) struct PlatformTests {
    @Test("a wait that reads nothing notices that the peer has gone, and no signal ends the process")
    func hangUp() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Platform.streamSocket, 0, &ends) == 0)
        defer { Platform.closeDescriptor(ends[0]) }
        let stop = try WakePipe()
        #expect(Platform.prepareSocket(ends[0]))
        #expect(PollResult.of(ends[0], events: 0, stop: stop.readingEnd, timeout: 0) == .nothing)
        Platform.closeDescriptor(ends[1])
        #expect(PollResult.of(ends[0], events: 0, stop: stop.readingEnd) == .ended)
        let socket = ConnectionSocket(descriptor: dup(ends[0]), stop: stop.readingEnd)
        #expect(throws: ConnectionEnd.self) { try [UInt8](repeating: 0, count: 16).withUnsafeBytes { try socket.send($0) } }
    }
}
