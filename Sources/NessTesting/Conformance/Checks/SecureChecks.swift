import Foundation
import NessHTTP

extension TransportConformance {
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
        Group.secure.check("reuse", "GETs in a row over TLS use one connection.", needsAuthority: true) {
            try await expectReuse(isSecure: true, in: $0)
        },
        Group.secure.check(
            "broken-body", "A connection over TLS that breaks inside the body is lost or truncated, not insecure.", needsAuthority: true
        ) { context in
            for (last, kinds) in [(ConnectionStep.reset, [TransportError.Kind.connectionLost]), (.close, [.truncated])] {
                let server = try await context.serve(isSecure: true, script: { _ in half.dropLast() + [last] })
                context.expect("the error", await context.run(try context.request(to: server)), failsWith: kinds)
            }
        },
        Group.secure.check(
            "seen", "After the server has read a request over TLS, no error claims that it has not.", needsAuthority: true
        ) { try await expectSeen([[.close], [.reset]], isSecure: true, in: $0) },
    ]
}
