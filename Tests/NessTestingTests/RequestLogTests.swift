import Foundation
import Testing

@testable import NessTesting

struct RequestLogTests {
    @Test("the server keeps the newest ten thousand requests") func theNewestTenThousandAreKept() {
        var log = RequestLog()
        for number in 1...25_000 { log.append(ReceivedRequest(method: .get, target: "/\(number)")) }
        #expect(log.newest.count == 10_000)
        #expect(log.newest.first?.target == "/15001" && log.newest.last?.target == "/25000")
    }

    @Test("the size of the kept bodies stays bounded") func bodiesAreBoundedAcrossTheTrimming() {
        var log = RequestLog()
        let body = Data(count: 8 << 10)
        for number in 1...25_000 { log.append(ReceivedRequest(method: .put, target: "/\(number)", body: body)) }
        #expect(log.newest.map(\.body.count).reduce(0, +) == RequestLog.bodyCapacity)
        #expect(log.newest.last?.isBodyDropped == false && log.newest.first?.isBodyDropped == true)
    }

    @Test("a body larger than the bound is not kept") func aBodyLargerThanTheBoundIsNotKept() {
        var log = RequestLog()
        log.append(ReceivedRequest(method: .put, target: "/", body: Data(count: RequestLog.bodyCapacity + 1)))
        #expect(log.newest[0].body.isEmpty && log.newest[0].isBodyDropped)
    }
}
