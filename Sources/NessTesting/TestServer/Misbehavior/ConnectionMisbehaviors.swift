extension Misbehavior {
    /// Connections that end or stall where they should not.
    static let connections: [Misbehavior] = [
        Misbehavior("reset-on-accept", "Resets the connection before reading anything.", expecting: .connectionLost) { _ in [.reset] },
        Misbehavior("close-on-accept", "Closes the connection before reading anything.", expecting: .connectionLost) { _ in [.close] },
        Misbehavior("half-close-on-accept", "Ends its stream before the request, but keeps reading.", expecting: .connectionLost) { _ in
            [.halfClose, .receiveRequest, .stall]
        },
        Misbehavior("reset-after-request", "Reads the request, then resets.", expecting: .connectionLost) { _ in [.receiveRequest, .reset]
        },
        Misbehavior("close-after-request", "Reads the request, then closes.", expecting: .connectionLost) { _ in [.receiveRequest, .close]
        },
        Misbehavior("half-close-after-request", "Reads the request, then ends its stream only.", expecting: .connectionLost) { _ in
            [.receiveRequest, .halfClose, .stall]
        },
        Misbehavior("close-inside-request", "Reads a few bytes of the request, then closes.", expecting: .connectionLost) { _ in
            [.receive(bytes: 4), .close]
        },
        Misbehavior("stall-on-accept", "Accepts, and never says anything.", expecting: .timesOut) { _ in [.stall] },
        Misbehavior("stall-after-request", "Reads the request, and never responds.", expecting: .timesOut) { _ in
            [.receiveRequest, .stall]
        },
        raw("reset-in-status-line", "Resets inside the status line.", expecting: .connectionLost, "HTTP/1.1 20", then: .reset),
        raw(
            "close-in-status-line", "Closes inside the status line.", expecting: .anyFailure, "HTTP/1.1 20"),
        raw("stall-in-status-line", "Stands still inside the status line.", expecting: .timesOut, "HTTP/1.1 20", then: .stall),
        raw(
            "reset-in-head", "Resets inside the header fields.", expecting: .connectionLost, "HTTP/1.1 200 OK\r\nContent-Type: te",
            then: .reset),
        raw(
            "close-in-head", "Closes inside the header fields, before any Content-Length.", expecting: .anyFailure, onlyOutOfProcess: true,
            "HTTP/1.1 200 OK\r\nContent-Type: te"),
        raw(
            "half-close-in-head", "Ends its stream inside the header fields.", expecting: .anyFailure, onlyOutOfProcess: true,
            "HTTP/1.1 200 OK\r\nContent-Type: te", then: .halfClose),
        raw(
            "close-in-head-after-length", "Closes inside the header fields, behind the Content-Length.", expecting: .anyFailure,
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: te"),
        raw(
            "stall-in-head", "Stands still inside the header fields.", expecting: .timesOut, "HTTP/1.1 200 OK\r\nContent-Type: te",
            then: .stall),
        raw(
            "reset-in-body", "Resets after half of the announced body.", expecting: .connectionLost,
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", then: .reset),
        raw(
            "half-close-in-body", "Ends its stream after half of the announced body.", expecting: .truncated,
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", then: .halfClose),
        raw(
            "stall-in-body", "Stands still after half of the announced body.", expecting: .timesOut,
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", then: .stall),
    ]
}
