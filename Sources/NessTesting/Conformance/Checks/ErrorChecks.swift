import Foundation
import NessHTTP

extension TransportError {
    /// True if the pipeline takes this error for a proof that the server has not seen the request.
    var claimsUnseen: Bool { isUnsent || [.invalidRequest, .offline, .cannotConnect, .tls].contains(kind) }
}

extension TransportConformance {
    private static let ok = "HTTP/1.1 200 OK\r\n"

    private static let methods: [(HTTPMethod, HTTPBody?)] = [(.get, nil), (.post, HTTPBody(Data("content".utf8)))]

    /// Sends a GET and a POST to a server with a script, and checks the errors.
    private static func expect(
        _ name: String, _ steps: [ConnectionStep], failsWith kinds: [TransportError.Kind], in context: CheckContext
    ) async throws {
        for (method, body) in methods {
            let server = try await context.serve(script: { _ in steps })
            let record = await context.run(try context.request(method, to: server, body: body))
            context.expect("\(method), \(name)", record, failsWith: kinds)
            try await context.expectWorking()
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

    /// The kinds of errors.
    static let errorChecks: [Check] = [
        Group.errors.check("refused", "A port that refuses the connection fails with `cannotConnect`.") { context in
            for (method, body) in methods {
                // Nothing listens on port 1.
                let request = HTTPRequest(method, url: try context.url("http://127.0.0.1:1/"), body: body)
                context.expect("\(method)", await context.run(request), failsWith: [.cannotConnect])
            }
            try await context.expectWorking()
        },
        Group.errors.check("no-such-host", "A host name that does not exist fails with `cannotConnect`, or `offline` without a network.") {
            context in
            for (method, body) in methods {
                // RFC 6761, 6.4: this name never exists.
                let request = HTTPRequest(method, url: try context.url("http://ness.invalid/"), body: body)
                context.expect("\(method)", await context.run(request), failsWith: [.cannotConnect, .offline])
            }
            try await context.expectWorking()
        },
        Group.errors.check("ended-before-head", "A connection that ends after the request fails with `connectionLost`.") { context in
            try await expect("closed", [.receiveRequest, .close], failsWith: [.connectionLost], in: context)
            try await expect("reset", [.receiveRequest, .reset], failsWith: [.connectionLost], in: context)
            try await expect("half closed", [.receiveRequest, .halfClose, .stall], failsWith: [.connectionLost], in: context)
        },
        Group.errors.check("reset-in-head", "A reset inside the head fails with `connectionLost`.") { context in
            let start = ConnectionStep.send(ok + "Content-Type: te")
            try await expect("reset", [.receiveRequest, start, .reset], failsWith: [.connectionLost], in: context)
        },
        Group.errors.check("reset-in-body", "A reset inside the body fails with `connectionLost`.") { context in
            for start in ["Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"] {
                try await expect("reset", [.receiveRequest, .send(ok + start), .reset], failsWith: [.connectionLost], in: context)
            }
        },
        Group.errors.check("seen", "After the server has read the request, no error claims that it has not.") { context in
            let ends: [[ConnectionStep]] = [
                [.close], [.reset], [.halfClose, .stall], [.send("HTTP/1.1 20"), .close], [.send("SSH-2.0-OpenSSH_9.2\r\n"), .close],
                [.send(ok + "Content-Length: 10\r\n\r\nhello"), .close], [.send(ok + "Content-Length: 10\r\n\r\nhello"), .reset],
                [.sendData(Data([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x16])), .close],
            ]
            for (number, end) in ends.enumerated() {
                for (method, body) in methods {
                    let server = try await context.serve(script: { _ in [.receiveRequest] + end })
                    let record = await context.run(try context.request(method, to: server, body: body))
                    context.expect("\(method), end \(number)", record, failsWith: TransportError.Kind.allCases)
                    context.expect(
                        "\(method), end \(number), \(record.summary), claims unseen", record.transportError?.claimsUnseen, equals: false)
                }
            }
        },
        Group.errors.check("error-types", "`send` throws TransportErrors, and CancellationError only after a cancellation.") { context in
            let scripts: [[ConnectionStep]] = [
                [.close], [.reset], [.receiveRequest, .close], [.receiveRequest, .reset], [.receiveRequest, .send("lorem\r\n"), .close],
                [.receiveRequest, .send(ok + "Content-Length: 10\r\n\r\nhello"), .close],
            ]
            for (number, script) in scripts.enumerated() {
                let server = try await context.serve(script: { _ in script })
                context.expect(
                    "script \(number)", await context.run(try context.request(to: server)), failsWith: TransportError.Kind.allCases)
            }
        },
        Group.errors.check("tls-untrusted", "A certificate that no trusted authority has signed fails with `tls`, and nothing is sent.") {
            context in
            let certificate = try TestAuthority(name: "Nobody's").certificate()
            try await expectRejected(certificate, as: [.untrusted], in: context)
        },
        Group.errors.check("tls-wrong-host", "A certificate for another host fails with `tls`, and nothing is sent.", needsAuthority: true)
        {
            context in
            try await expectRejected(context.certificate(for: ["other.test"]), as: [.wrongHost, .untrusted], in: context)
        },
        Group.errors.check("tls-expired", "An expired certificate fails with `tls`, and nothing is sent.", needsAuthority: true) {
            context in
            try await expectRejected(context.certificate(until: .seconds(-60)), as: [.expired], in: context)
        },
        Group.errors.check("tls-plain-server", "A server that does not speak TLS fails with `tls`, and the request is not sent to it.") {
            context in
            for (method, body) in methods {
                let server = try await context.serve(script: { _ in [.receive(bytes: 1), .send("220 mail.example.com ESMTP\r\n"), .stall] })
                let request = HTTPRequest(method, url: try context.url("https://127.0.0.1:\(server.port)/"), body: body)
                context.expect("\(method)", await context.run(request), failsWith: [.tls])
            }
            try await context.expectWorking()
        },
        Group.errors.check(
            "tls-ended-in-handshake", "A connection that ends in the TLS handshake is an error, which says that nothing was sent."
        ) { context in
            for end in [ConnectionStep.close, .reset] {
                for (method, body) in methods {
                    let server = try await context.serve(script: { _ in [.receive(bytes: 1), end] })
                    let request = HTTPRequest(method, url: try context.url("https://127.0.0.1:\(server.port)/"), body: body)
                    let record = await context.run(request)
                    context.expect("\(method)", record, failsWith: [.connectionLost, .cannotConnect, .tls])
                }
            }
            try await context.expectWorking()
        },
    ]
}
