#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// The decision whether a request is sent and sent again, without a socket.
@Suite struct SendHistoryTests {
    private func request(_ method: HTTPMethod = .get, body: String? = nil, expecting limit: Duration? = nil) throws -> HTTPRequest {
        var request = HTTPRequest(method, url: try url("https://a.test/"), body: body.map { HTTPBody(Data($0.utf8)) })
        request[ExpectsContinue.self] = limit
        return request
    }

    /// Asks for a number of sends on one connection.
    private func sends(_ history: inout SendHistory, _ count: Int = 2) -> [Bool] { (0..<count).map { _ in history.takeSend { false } } }

    @Test("a request that may be repeated is sent once more on a fresh connection, not twice more", arguments: [HTTPMethod.get, .put])
    func repeated(_ method: HTTPMethod) throws {
        var history = SendHistory(method == .put ? try request(.put, body: "x") : try request())
        #expect(history.isUnsent)
        for restarts in [true, false] {
            let sends = sends(&history), mayRestart = history.takeRestart(hasHead: false)
            #expect(sends == [true, false] && mayRestart == restarts && history.wasRefused == !restarts)
        }
    }

    @Test("a request that must not be repeated is not sent again", arguments: [HTTPMethod.post, .patch, .put])
    func once(_ method: HTTPMethod) throws {
        var request = try request(method, body: "x")
        // The bytes of a sequence can be read once.
        if method == .put { request.body = HTTPBody.stream(AsyncStream<Data> { $0.finish() }) }
        var history = SendHistory(request)
        let sends = sends(&history), mayRestart = history.takeRestart(hasHead: false)
        #expect(sends == [true, false] && !mayRestart && !history.isUnsent)
    }

    @Test("a GET that a fresh connection did not take is sent once more, a POST is not", arguments: [HTTPMethod.get, .post])
    func sendError(_ method: HTTPMethod) throws {
        var history = SendHistory(try request(method))
        history.noteSendError()
        let restartsUnsent = history.takeRestart(hasHead: false)
        #expect(!restartsUnsent)
        for restarts in method == .get ? [true, false] : [false] {
            let sends = sends(&history, 1)
            history.noteSendError()
            let mayRestart = history.takeRestart(hasHead: false)
            #expect(sends == [true] && mayRestart == restarts)
        }
    }

    @Test("a request that was sent stays sent after a restart; one that a stale connection kept back is unsent")
    func sent() throws {
        var stale = SendHistory(try request()), sent = stale
        let maySend = stale.takeSend { true }, mayRestart = stale.takeRestart(hasHead: false)
        #expect(!maySend && mayRestart && stale.isUnsent)
        _ = sends(&sent)
        let restarts = sent.takeRestart(hasHead: false)
        #expect(restarts && !sent.isUnsent && sent.wasSentBefore)
    }

    @Test("a request that is stopped before its first byte is unsent")
    func stopped() throws {
        var history = SendHistory(try request(.post, body: "x"))
        let sends = sends(&history, 1)
        history.takeBack()
        #expect(sends == [true] && history.isUnsent && history.sendCount == 0)
    }

    @Test("a connection that is not free costs no attempt, and a further one is tried at most twice")
    func occupied() throws {
        var history = SendHistory(try request(.post, body: "x"))
        for restarts in [true, true, false] {
            let maySend = history.takeSend(ifFree: { false }, unless: { false }), mayRestart = history.takeRestart(hasHead: false)
            #expect(!maySend && mayRestart == restarts && history.isUnsent)
        }
    }

    @Test("a request that the server has not processed is unsent, and libcurl may send it on another connection once")
    func unprocessed() throws {
        var history = SendHistory(try request(.post, body: "x"))
        let first = sends(&history, 1)
        for _ in 0..<2 { history.noteUnprocessed() }
        #expect(history.isUnsent)
        let second = sends(&history, 1)
        #expect(first == [true] && second == [true] && !history.isUnsent)
        history.noteUnprocessed()
        let third = sends(&history, 1), mayRestart = history.takeRestart(hasHead: false)
        #expect(third == [false] && !mayRestart && history.isUnsent)
    }

    @Test("a GET that the server has not processed is sent again if the next connection breaks")
    func unprocessedThenLost() throws {
        var history = SendHistory(try request())
        let first = sends(&history, 1)
        history.noteUnprocessed()
        let second = sends(&history), mayRestart = history.takeRestart(hasHead: false)
        #expect(first == [true] && second == [true, false] && mayRestart)
    }

    @Test("a request that was sent goes to another connection only after a restart")
    func move() throws {
        var history = SendHistory(try request())
        let mayMoveUnsent = history.takeMove(), first = sends(&history, 1), mayMoveSent = history.takeMove()
        #expect(mayMoveUnsent && first == [true] && !mayMoveSent && history.wasRefused)
        let restarts = history.takeRestart(hasHead: false), mayMove = history.takeMove()
        #expect(restarts && mayMove)
    }

    @Test("nothing is sent again after the head of a response")
    func head() throws {
        var history = SendHistory(try request())
        let sends = sends(&history), mayRestart = history.takeRestart(hasHead: true)
        #expect(sends == [true, false] && !mayRestart)
    }

    @Test("a rejected expectation is left out of the repetition, even for a request that must not be repeated")
    func expectation() throws {
        var history = SendHistory(try request(.post, body: "x", expecting: .seconds(1)))
        let expects = history.expectsContinue, first = sends(&history, 1)
        history.refuseExpectation()
        let mayRestart = history.takeRestart(hasHead: true)
        #expect(expects && first == [true] && mayRestart && !history.expectsContinue && !history.isUnsent)
        let second = sends(&history), mayRestartAgain = history.takeRestart(hasHead: false)
        #expect(second == [true, false] && !mayRestartAgain)
        let empty = SendHistory(try request(expecting: .seconds(1)))
        #expect(!empty.expectsContinue)
    }
}
#endif
