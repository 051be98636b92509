extension Misbehavior {
    /// Connections that end or stall where they should not.
    static let connections: [Misbehavior] = {
        let lineStart = "HTTP/1.1 20", headStart = "HTTP/1.1 200 OK\r\nContent-Type: te"
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"
        func steps(_ name: String, _ summary: String, expecting expectation: Expectation, _ steps: ConnectionStep...) -> Misbehavior {
            Misbehavior(name, summary, expecting: expectation) { _ in steps }
        }
        return [
            steps("reset-on-accept", "Resets the connection before reading anything.", expecting: .connectionLost, .reset),
            steps("close-on-accept", "Closes the connection before reading anything.", expecting: .connectionLost, .close),
            steps(
                "half-close-on-accept", "Ends its stream before the request, but keeps reading.", expecting: .connectionLost, .halfClose,
                .receiveRequest, .stall),
            steps("reset-after-request", "Reads the request, then resets.", expecting: .connectionLost, .receiveRequest, .reset),
            steps("close-after-request", "Reads the request, then closes.", expecting: .connectionLost, .receiveRequest, .close),
            steps(
                "half-close-after-request", "Reads the request, then ends its stream only.", expecting: .connectionLost, .receiveRequest,
                .halfClose, .stall),
            steps(
                "close-inside-request", "Reads a few bytes of the request, then closes.", expecting: .connectionLost, .receive(bytes: 4),
                .close),
            steps("stall-on-accept", "Accepts, and never says anything.", expecting: .timesOut, .stall),
            steps("stall-after-request", "Reads the request, and never responds.", expecting: .timesOut, .receiveRequest, .stall),
            raw("reset-in-status-line", "Resets inside the status line.", expecting: .connectionLost, lineStart, then: .reset),
            raw("close-in-status-line", "Closes inside the status line.", expecting: .anyFailure, lineStart),
            raw("stall-in-status-line", "Stands still inside the status line.", expecting: .timesOut, lineStart, then: .stall),
            raw("reset-in-head", "Resets inside the header fields.", expecting: .connectionLost, headStart, then: .reset),
            raw(
                "close-in-head", "Closes inside the header fields, before any Content-Length.", expecting: .anyFailure,
                onlyOutOfProcess: true, headStart),
            raw(
                "half-close-in-head", "Ends its stream inside the header fields.", expecting: .anyFailure, onlyOutOfProcess: true,
                headStart, then: .halfClose),
            raw(
                "close-in-head-after-length", "Closes inside the header fields, behind the Content-Length.", expecting: .anyFailure,
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: te"),
            raw("stall-in-head", "Stands still inside the header fields.", expecting: .timesOut, headStart, then: .stall),
            raw("reset-in-body", "Resets after half of the announced body.", expecting: .connectionLost, half, then: .reset),
            raw("half-close-in-body", "Ends its stream after half of the announced body.", expecting: .truncated, half, then: .halfClose),
            raw("stall-in-body", "Stands still after half of the announced body.", expecting: .timesOut, half, then: .stall),
        ]
    }()
}
