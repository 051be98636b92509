#if os(Linux)
import Testing

@testable import NessHTTP

/// The decision whether a connection takes a transfer, without a socket.
@Suite struct CurlConnectionUseTests {
    private var use = CurlConnectionUse<String>()

    @Test("a connection takes one transfer at a time, until it shows HTTP/2")
    mutating func oneAtATime() {
        var takes = use.join("a", on: 1) { _ in true }
        #expect(takes)
        takes = use.join("b", on: 1) { _ in true }
        #expect(!takes)
        takes = use.join("b", on: 2) { _ in true }
        #expect(takes)
        use.leave("a", from: 1)
        takes = use.join("c", on: 1) { _ in true }
        #expect(takes)
        use.showHTTP2(on: 1)
        takes = use.join("b", on: 1) { _ in true }
        #expect(takes)
    }

    @Test("a transfer that has ended in libcurl does not count, and leaving late has no effect")
    mutating func ended() {
        _ = use.join("a", on: 1) { _ in true }
        var takes = use.join("b", on: 1) { $0 != "a" }
        #expect(takes)
        use.leave("a", from: 1)
        takes = use.join("c", on: 1) { _ in true }
        #expect(!takes)
    }

    @Test("a connection of HTTP/2 stays one while it is idle; a retired one takes nothing more, and is forgotten at its end")
    mutating func retired() {
        _ = use.join("a", on: 1) { _ in true }
        use.showHTTP2(on: 1)
        use.leave("a", from: 1)
        for name in ["a", "b"] { _ = use.join(name, on: 1) { _ in true } }
        #expect(use.arrivalCount(on: 1) == 0)
        use.bytesArrived(on: 1)
        #expect(use.arrivalCount(on: 1) == 1 && use.arrivalCount(on: 2) == nil)
        #expect(use.retire(1) == ["a", "b"])
        let takes = use.join("c", on: 1) { _ in true }
        #expect(!takes)
        for name in ["a", "b"] { use.leave(name, from: 1) }
        #expect(use.arrivalCount(on: 1) == nil)
    }
}
#endif
