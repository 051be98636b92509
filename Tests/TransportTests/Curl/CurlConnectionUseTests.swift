#if os(Linux)
import TestSupport
import Testing

@testable import NessHTTP

/// The decision whether a connection takes a transfer, without a socket.
@Suite struct CurlConnectionUseTests {
    private var use = CurlConnectionUse<String>()

    private mutating func takes(_ transfer: String, on connection: Int64, unless ended: String? = nil) -> Bool {
        use.join(transfer, on: connection) { $0 != ended }
    }

    @Test("a connection takes one transfer at a time, until it shows HTTP/2")
    mutating func oneAtATime() {
        let first = [takes("a", on: 1), takes("b", on: 1), takes("b", on: 2)]
        use.leave("a", from: 1)
        let second = takes("c", on: 1)
        use.noteHTTP2(on: 1)
        let third = takes("b", on: 1)
        #expect(first == [true, false, true] && second && third)
    }

    @Test("a transfer that has ended in libcurl does not count, and leaving late has no effect")
    mutating func ended() {
        let first = [takes("a", on: 1), takes("b", on: 1, unless: "a")]
        use.leave("a", from: 1)
        let second = takes("c", on: 1)
        #expect(first == [true, true] && !second)
    }

    @Test("a connection of HTTP/2 stays one while it is idle; a retired one takes nothing more, even once it is idle")
    mutating func retired() {
        _ = takes("a", on: 1)
        use.noteHTTP2(on: 1)
        use.leave("a", from: 1)
        for name in ["a", "b"] { _ = takes(name, on: 1) }
        #expect(use.arrivalCount(on: 1) == 0)
        use.bytesArrived(on: 1)
        #expect(use.arrivalCount(on: 1) == 1 && use.arrivalCount(on: 2) == nil)
        use.retire(1)
        let isLast = use.isRetired(1, after: "a")
        use.leave("b", from: 1)
        #expect(!isLast && use.isRetired(1, after: "a"))
        use.leave("a", from: 1)
        let takesMore = takes("c", on: 1)
        #expect(!takesMore)
    }
}
#endif
