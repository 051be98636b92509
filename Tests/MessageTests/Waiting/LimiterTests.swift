import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The host queue alone, step by step: `enter` and `leave` show immediately who waits and who goes first.
@Suite struct LimiterTests {
    /// A request in a queue.
    private typealias Place = (lane: Limiter<String>.Lane, waiter: Waiter?)

    private func isAdmitted(_ place: Place) -> Bool { place.waiter?.hasEnded ?? true }

    @Test(
        "no more requests than the limit run, and the others follow in the order of arrival; a limit below one is one",
        arguments: [(1, 1), (2, 2), (3, 3), (0, 1), (-1, 1), (Int.min, 1)])
    func order(limit: Int, most: Int) {
        let queue = Limiter<String>(limit: limit), places = (0..<7).map { _ in queue.enter("a") }
        for (number, place) in places.enumerated() {
            #expect(places.map(isAdmitted) == (0..<7).map { $0 < most + number })
            queue.leave(place.lane)
        }
        #expect(isAdmitted(queue.enter("a")))
    }

    @Test("each key has one queue, and each origin one key, for every spelling")
    func origins() throws {
        let queue = Limiter<ParsedURL.Origin>(limit: 1)
        let urls = [
            "http://a/1", "http://A:80/waits", "http://b/2", "https://a/3", "https://a:443/waits", "http://a:443/4", "http://a:8080/5",
        ]
        for text in urls { #expect((queue.enter(ParsedURL(try url(text)).origin).waiter != nil) == text.hasSuffix("waits")) }
    }

    @Test("a request that is dropped while it waits leaves immediately, and the others keep their order", arguments: [5, 10_000])
    func drops(count: Int) async {
        let queue = Limiter<String>(limit: 1), places = (0..<count).map { _ in queue.enter("a") }
        let (dropped, kept) = (places.indices.filter { $0 % 3 == 1 }, places.indices.filter { $0 % 3 != 1 })
        for index in dropped { places[index].waiter?.cancel() }
        for index in dropped { await #expect(throws: CancellationError.self) { try await places[index].waiter?.wait() } }
        for (index, next) in zip(kept, kept.dropFirst()) {
            #expect(isAdmitted(places[index]) && !isAdmitted(places[next]))
            queue.leave(places[index].lane)
        }
        #expect(isAdmitted(places[kept[kept.count - 1]]))
    }

    @Test("a raised limit admits the first requests, and a limit of zero admits no request")
    func changingLimit() {
        let queue = Limiter<String>(limit: 1), places = (0..<8).map { _ in queue.enter("a") }
        queue.limit = 3
        #expect(places.map(isAdmitted) == (0..<8).map { $0 < 3 })
        queue.limit = 0
        for place in places.prefix(3) { queue.leave(place.lane) }
        places[4].waiter?.cancel()
        #expect(places[3...].map(isAdmitted) == [false, true, false, false, false])
        queue.limit = 2
        #expect(places[3...].map(isAdmitted) == [true, true, true, false, false])
    }

    @Test("a slot above a lowered limit is given back before its request starts; such requests go first, in their order")
    func givenBack() throws {
        let queue = Limiter<String>(limit: 4), places = (0..<6).map { _ in queue.enter("a") }
        #expect(queue.enterAgain(places[0].lane) == nil)
        queue.limit = 1
        let again = (0..<3).map { _ in queue.enterAgain(places[0].lane) }
        #expect(again.allSatisfy { $0?.hasEnded == false } && queue.enterAgain(places[3].lane) == nil)
        queue.limit = 0
        let last = queue.enterAgain(places[3].lane)
        again[1]?.cancel()
        queue.limit = 2
        #expect((again + [last]).map { $0?.hasEnded } == [true, true, true, false] && !isAdmitted(places[4]))
        for admitted in [[true, false, false], [true, true, false], [true, true, true]] {
            queue.leave(places[0].lane)
            #expect([last?.hasEnded ?? true, isAdmitted(places[4]), isAdmitted(places[5])] == admitted)
        }
    }
}
