import Foundation

extension Misbehavior {
    /// Persistent connections that fail when they are reused.
    static let reuses: [Misbehavior] = {
        let kept = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        /// Makes a misbehavior whose first connection responds once and then runs the steps. Every later connection behaves well.
        func afterFirst(_ name: String, _ summary: String, _ expectation: Expectation, _ steps: [ConnectionStep]) -> Misbehavior {
            Misbehavior(name, summary, expecting: expectation, requestCount: 2) { connection in
                guard connection.number == 1 else { return [.serve { _ in .text("hello") }] }
                return [.receiveRequest, .send(kept + "first")] + steps
            }
        }
        return [
            afterFirst("close-on-reuse", "Closes when the second request comes.", .helloOrFailure, [.receiveHead, .close]),
            afterFirst("reset-on-reuse", "Resets when the second request comes.", .helloOrFailure, [.receiveHead, .reset]),
            afterFirst(
                "half-close-on-reuse", "Ends its stream when the second request comes.", .helloOrFailure,
                [.receiveHead, .halfClose, .stall]),
            afterFirst(
                "close-at-once", "Keeps the connection by its words, and closes it behind the response.", .helloOrFailure, [.close]),
            afterFirst(
                "reset-at-once", "Keeps the connection by its words, and resets it when the client has read.", .helloOrFailure,
                [.receive(bytes: 1), .reset]),
            afterFirst("stall-on-reuse", "Never responds to the second request.", .timesOut, [.stall]),
            afterFirst(
                "cut-on-reuse", "Closes inside the second response.", .truncated,
                [.receiveRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .close]),
            afterFirst(
                "unasked-second-response", "Sends a second response that nobody asked for right behind the first.", .helloOrFailure,
                [.send(kept + "wrong"), .receiveRequest, .send(kept + "hello"), .stall]),
            afterFirst(
                "unasked-408", "Says 408 on the idle connection and closes it.", .helloOrFailure,
                [.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), .close]),
            afterFirst(
                "garbage-behind-response", "Sends text behind the first response.", .helloOrFailure,
                [.send("garbage"), .receiveHead, .close]),
            raw(
                "close-announced-late", "Says that it closes, and keeps the connection open.", expecting: .hello,
                "HTTP/1.1 200 OK\r\n\(shortFields)", then: .stall),
            Misbehavior(
                "one-request-a-connection", "Closes behind each response without a word.", expecting: .helloOrFailure, requestCount: 3
            ) { _ in [.receiveRequest, .send(kept + "hello"), .close] },
            Misbehavior(
                "every-connection-cut", "Closes every connection on its first request.", expecting: .connectionLost, requestCount: 3
            ) { _ in [.receiveRequest, .close] },
        ]
    }()
}
