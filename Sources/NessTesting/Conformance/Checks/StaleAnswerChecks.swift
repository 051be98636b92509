import Foundation
import NessHTTP

extension TransportConformance {
    private static let kept = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

    /// Lets a server send bytes without a request, and checks that the next request does not get them as its response.
    /// - Parameters:
    ///   - text: The bytes, sent when the client has the first response.
    ///   - isTogether: True if they are sent in one piece with the first response.
    ///   - end: The step after them.
    private static func expectIgnored(
        _ text: String, isTogether: Bool = false, then end: ConnectionStep = .serve { _ in .text("right") }, isSecure: Bool = false,
        in context: CheckContext
    ) async throws {
        for (method, body) in [(HTTPMethod.get, nil), (.head, nil), (.post, HTTPBody(Data("x".utf8))), (.put, HTTPBody(Data("x".utf8)))] {
            let hasFirst = TestGate(), sent = TestGate()
            let server = try await context.serve(
                isSecure: isSecure,
                script: { connection in
                    guard connection.number == 1 else { return [.serve { _ in .text("right") }] }
                    let late: [ConnectionStep] = isTogether ? [] : [.wait(hasFirst), .send(text)]
                    return [.receiveRequest, .send(kept + "first" + (isTogether ? text : ""))] + late + [.signal(sent), end]
                })
            context.expect("the first response", await context.run(try context.request(to: server, "/1")), gives: 200, "first")
            hasFirst.open()
            // A client may have closed the connection.
            await context.wait(for: sent, orEndOf: server)
            let record = await context.run(try context.request(method, to: server, "/2", body: body))
            if record.transportError == nil { context.expect("\(method)", record, gives: 200, method == .head ? "" : "right") }
            context.expect("\(method)", server.requests.count { $0.target == "/2" } <= 1, equals: true)
        }
    }

    private static let unasked408 = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    /// Unsolicited responses.
    static let staleAnswerChecks: [Check] =
        [
            Group.resends.check("unasked-answer", "A second response sent with the first is not the response to the next request.") {
                try await expectIgnored(kept + "wrong", isTogether: true, in: $0)
            },
            Group.resends.check("unasked-408", "A 408 that arrived on an idle connection is not the response to the next request.") {
                try await expectIgnored(unasked408, then: .close, in: $0)
            },
            Group.resends.check("unasked-garbage", "Text that arrived on an idle connection is not a part of the next response.") {
                try await expectIgnored("garbage", in: $0)
            },
        ]
        + Group.resends.checks(
            "late-unasked-answer", "A response that arrived on an idle connection is not the response to the next request."
        ) { try await expectIgnored(kept + "wrong", isSecure: $0, in: $1) }
}
