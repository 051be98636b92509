import Foundation
import NessHTTP

extension TransportError {
    /// True if the pipeline takes this error for a proof that the server has not seen the request.
    var claimsUnseen: Bool { repetition == .always || [.invalidRequest, .offline, .cannotConnect, .addressRejected, .tls].contains(kind) }
}

extension TransportConformance {
    /// Sends a GET and a POST to a URL, and checks the errors and the next exchange.
    private static func expect(_ url: String, failsWith kinds: [TransportError.Kind], in context: CheckContext) async throws {
        for (method, body) in methods {
            let request = HTTPRequest(method, url: try context.url(url), body: body)
            context.expect("\(method)", await context.run(request), failsWith: kinds)
        }
        try await context.expectWorking()
    }

    /// Sends a GET and a POST to servers that read the request and then end it in some way. No error may claim that they did not see it.
    static func expectSeen(_ ends: [[ConnectionStep]], isSecure: Bool = false, in context: CheckContext) async throws {
        for (number, end) in ends.enumerated() {
            for (method, body) in methods {
                let server = try await context.serve(isSecure: isSecure, script: { _ in [.receiveRequest] + end })
                let record = await context.run(try context.request(method, to: server, body: body))
                context.expect("\(method), end \(number)", record, failsWith: TransportError.Kind.allCases)
                context.expect(
                    "\(method), end \(number), \(record.summary), claims unseen", record.transportError?.claimsUnseen, equals: false)
            }
        }
    }

    /// Sends a request over https to a server of a certificate that must not be trusted.
    private static func expectRejected(
        _ certificate: TestCertificate, as failures: [TLSFailure], in context: CheckContext
    ) async throws {
        for (method, body) in methods {
            let server = try await context.serve(certificate) { _ in .text("never") }
            let record = await context.run(try context.request(method, to: server, body: body))
            context.expect("\(method)", record, failsWith: [.tls])
            let failure = record.transportError?.tlsFailure
            context.expect(
                failure.map(failures.contains) ?? true, "the TLS failure: expected one of \(failures), got \(String(describing: failure))")
            context.expect("the number of requests", server.requestCount, equals: 0)
        }
    }

    /// The kinds of errors. `Misbehavior.all` has more.
    static let errorChecks: [Check] = [
        // Nothing listens on port 1.
        Group.errors.check("refused", "A port that refuses the connection fails with `cannotConnect`.") {
            try await expect("http://127.0.0.1:1/", failsWith: [.cannotConnect], in: $0)
        },
        // RFC 6761, 6.4: this name never exists.
        Group.errors.check("no-such-host", "A host name that does not exist fails with `cannotConnect`, or `offline` without a network.") {
            try await expect("http://ness.invalid/", failsWith: [.cannotConnect, .offline], in: $0)
        },
        Group.errors.check("seen", "After the server has read the request, no error claims that it has not.") { context in
            let ends: [[ConnectionStep]] = [
                [.close], [.reset], [.halfClose, .stall], [.send("HTTP/1.1 20"), .close], [.send("SSH-2.0-OpenSSH_9.2\r\n"), .close],
                [.send(ok + "Content-Length: 10\r\n\r\nhello"), .close], [.send(ok + "Content-Length: 10\r\n\r\nhello"), .reset],
                [.sendData(Data([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x16])), .close],
            ]
            try await expectSeen(ends, in: context)
        },
        Group.errors.check("tls-untrusted", "A certificate that no trusted authority has signed fails with `tls`, and nothing is sent.") {
            context in
            let certificate = try TestAuthority(name: "Nobody's").certificate()
            try await expectRejected(certificate, as: [.untrusted], in: context)
        },
        Group.errors.check("tls-wrong-host", "A certificate for another host fails with `tls`, and nothing is sent.", needsAuthority: true)
        { context in
            try await expectRejected(context.certificate(for: ["other.test"]), as: [.wrongHost, .untrusted], in: context)
        },
        Group.errors.check("tls-expired", "An expired certificate fails with `tls`, and nothing is sent.", needsAuthority: true) {
            context in
            try await expectRejected(context.certificate(until: .seconds(-60)), as: [.expired], in: context)
        },
        Group.errors.check("tls-plain-server", "A server that does not speak TLS fails with `tls`, and the request is not sent to it.") {
            context in
            let server = try await context.serve(script: { _ in [.receive(bytes: 1), .send("220 mail.example.com ESMTP\r\n"), .stall] })
            try await expect("https://127.0.0.1:\(server.port)/", failsWith: [.tls], in: context)
        },
        Group.errors.check(
            "tls-ended-in-handshake", "A connection that ends in the TLS handshake is an error, which says that nothing was sent."
        ) { context in
            for end in [ConnectionStep.close, .reset] {
                let server = try await context.serve(script: { _ in [.receive(bytes: 1), end] })
                try await expect("https://127.0.0.1:\(server.port)/", failsWith: [.connectionLost, .cannotConnect, .tls], in: context)
            }
        },
    ]
}
