import Foundation

extension Misbehavior {
    /// 1xx responses that the request did not ask for.
    static let interims: [Misbehavior] = {
        let final = "HTTP/1.1 200 OK\r\n\(shortFields)"
        let proceed = "HTTP/1.1 100 Continue\r\n\r\n"
        return [
            raw("unasked-100", "Sends a 100 that nobody asked for.", expecting: .hello, proceed + final),
            raw("unasked-102", "Sends a 102 first.", expecting: .hello, "HTTP/1.1 102 Processing\r\n\r\n" + final),
            raw(
                "early-hints", "Sends a 103 with fields first.", expecting: .hello,
                "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" + final),
            raw("unknown-interim", "Sends a 199 first.", expecting: .hello, "HTTP/1.1 199 Unknown\r\n\r\n" + final),
            raw(
                "hundred-interims", "Sends 100 interim responses first.", expecting: .hello, String(repeating: proceed, count: 100) + final),
            raw(
                "interim-with-length", "Sends a 100 with a Content-Length, which means nothing there.", expecting: .helloOrFailure,
                "HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\n" + final),
            raw("interim-then-close", "Sends a 100, then closes.", expecting: .anyFailure, proceed),
            raw("interim-then-reset", "Sends a 100, then resets.", expecting: .connectionLost, proceed, then: .reset),
            raw("interim-then-stall", "Sends a 100, and never the response.", expecting: .timesOut, proceed, then: .stall),
            raw(
                "unasked-101", "Switches to a protocol that nobody asked for.", expecting: .anyFailure,
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: banana\r\nConnection: Upgrade\r\n\r\nbanana"),
            Misbehavior("endless-interims", "Sends interim responses that never end.", expecting: .anyFailure) { _ in
                [.receiveRequest, .sendUntilClosed(Data(String(repeating: proceed, count: 500).utf8))]
            },
        ]
    }()
}
