import Foundation

/// Runs the steps of a script on a connection.
struct ScriptRunner {
    let connection: Connection

    /// Runs steps in order.
    /// - Throws: `ConnectionEnd` if the peer, the server or a step has ended the connection.
    func run(_ steps: [ConnectionStep]) throws {
        for step in steps { try run(step) }
    }

    private func run(_ step: ConnectionStep) throws {
        switch step.action {
        case .receiveHead: try connection.reader.skipHead()
        case .receiveRequest: _ = try connection.receiveRequest()
        case .receive(let count): try connection.reader.bytes(count) { _ in }
        case .send(let data): try connection.send(data)
        case .sendEach(let next):
            do {
                while let data = try connection.run(next).get() {
                    // A peer that reads fast leaves nothing to wait for, and only a wait notices the end.
                    if connection.socket.isStopping { throw ConnectionEnd.gone }
                    if data.isEmpty { _ = try connection.wait(for: nil, until: .now + .milliseconds(1)) }
                    try connection.send(data)
                }
            } catch let end as ConnectionEnd {
                throw end
            } catch {
                try run(.reset)
            }
        case .sendUnencrypted(let data): try data.withUnsafeBytes { try connection.socket.sendRaw($0) }
        case .drip(let data, let interval): try drip(data, interval)
        case .respond(let reply): _ = try connection.respond(reply)
        case .wait(let gate): try connection.wait(for: gate)
        case .signal(let gate): gate.open()
        case .delay(let duration): _ = try connection.wait(for: nil, until: .now + duration.clampedForSleep)
        case .stall:
            connection.reader.discardUntilClosed()
            throw ConnectionEnd.gone
        case .reset:
            connection.socket.close(resetting: true)
            throw ConnectionEnd.finished
        case .halfClose: connection.socket.closeWriting()
        case .close:
            connection.reader.discardPending()
            connection.socket.close()
            throw ConnectionEnd.finished
        case .repeated(let count, let steps):
            var round = 0
            while round != count {
                // Steps that use no socket must not keep a stopped server running.
                if connection.socket.isStopping { throw ConnectionEnd.gone }
                try run(steps)
                round += 1
            }
        case .serve(let handler): try connection.serve(handler)
        case .resumeServing: throw ConnectionEnd.resumed
        case .sendUntilClosed(let data):
            guard !data.isEmpty else { throw ConnectionEnd.finished }
            // A peer that reads fast leaves nothing to wait for, and only a wait notices that the server stops.
            while !connection.socket.isStopping { try connection.send(data) }
            throw ConnectionEnd.gone
        case .tunnel(let port):
            try Tunnel(from: connection.socket, toPort: port).run(first: connection.reader.takeBacklog())
            throw ConnectionEnd.finished
        }
    }

    private func drip(_ data: Data, _ interval: Duration) throws {
        var isFirst = true
        for byte in data {
            if !isFirst, interval > .zero { _ = try connection.wait(for: nil, until: .now + interval.clampedForSleep, onEndOfStream: {}) }
            isFirst = false
            try connection.send(Data([byte]))
        }
    }
}
