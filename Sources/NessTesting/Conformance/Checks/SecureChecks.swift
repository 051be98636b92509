import Foundation
import NessHTTP

extension TransportConformance {
    private static let ok = "HTTP/1.1 200 OK\r\n"

    /// Exchanges over TLS.
    static let secureChecks: [Check] = [
        Group.secure.check("bodies", "Bodies of any size pass over TLS in both directions.", needsAuthority: true) { context in
            let server = try await context.serve(isSecure: true) { .data($0.body) }
            for count in [0, 1, 16_383, 16_384, 16_385, 3 << 20] {
                let content = conformanceData(count)
                let record = await context.run(try context.request(.put, to: server, body: HTTPBody(content)))
                context.expect("\(count) bytes", record, gives: 200, content)
            }
        },
        Group.secure.check("reuse", "GETs in a row over TLS use one connection.", needsAuthority: true) { context in
            let server = try await context.serve(isSecure: true) { _ in .text("fine") }
            for _ in 0..<10 { context.expect("the response", await context.run(try context.request(to: server)), gives: 200, "fine") }
            context.expect("the number of connections", server.connectionCount, equals: 1)
        },
        Group.secure.check(
            "broken-body", "A connection over TLS that breaks inside the body is lost or truncated, not insecure.", needsAuthority: true
        ) {
            context in
            for (last, kinds) in [(ConnectionStep.reset, [TransportError.Kind.connectionLost]), (.close, [.truncated])] {
                let server = try await context.serve(
                    isSecure: true,
                    script: { _ in
                        [.receiveRequest, .send(ok + "Content-Length: 10\r\n\r\nhello"), last]
                    })
                context.expect("the error", await context.run(try context.request(to: server)), failsWith: kinds)
            }
        },
        Group.secure.check(
            "seen", "After the server has read a request over TLS, no error claims that it has not.", needsAuthority: true
        ) { context in
            for end in [ConnectionStep.close, .reset] {
                for method in [HTTPMethod.get, .post] {
                    let server = try await context.serve(isSecure: true, script: { _ in [.receiveRequest, end] })
                    let record = await context.run(try context.request(method, to: server))
                    context.expect("\(method)", record, failsWith: TransportError.Kind.allCases)
                    context.expect("\(method), \(record.summary), claims unseen", record.transportError?.claimsUnseen, equals: false)
                }
            }
        },
    ]
}
