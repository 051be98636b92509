import Foundation

extension Misbehavior {
    /// Responses in tiny pieces, and responses without an end.
    static let paces: [Misbehavior] = {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
        let block = Data(repeating: 97, count: 65_536)
        return [
            Misbehavior("drip-head", "Sends the head byte by byte.", expecting: .hello) { _ in
                [.receiveRequest, .drip(head + "Content-Length: 5\r\n\r\n"), .send("hello"), .close]
            },
            Misbehavior("drip-body", "Sends the body byte by byte.", expecting: .hello) { _ in
                [.receiveRequest, .send(head + "Content-Length: 5\r\n\r\n"), .drip("hello"), .close]
            },
            Misbehavior("drip-chunks", "Sends chunks and their sizes byte by byte.", expecting: .hello) { _ in
                [.receiveRequest, .drip(head + "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), .close]
            },
            Misbehavior("response-before-request", "Responds before it has read the request.", expecting: .helloOrFailure) { _ in
                [.send(head + "Content-Length: 5\r\n\r\nhello"), .receiveRequest, .close]
            },
            Misbehavior(
                "response-inside-request", "Responds when it has read one byte of the request.",
                expecting: .helloOrFailure
            ) { _ in
                [.receive(bytes: 1), .send(head + "Content-Length: 5\r\n\r\nhello"), .receiveHead, .close]
            },
            Misbehavior("endless-body", "Sends a body that never ends, without a length.", expecting: .tooLarge) { _ in
                [.receiveRequest, .send(head + "\r\n"), .sendUntilClosed(block)]
            },
            Misbehavior("endless-body-with-length", "Announces 4 EiB, and sends for as long as it is heard.", expecting: .tooLarge) { _ in
                [.receiveRequest, .send(head + "Content-Length: 4611686018427387904\r\n\r\n"), .sendUntilClosed(block)]
            },
            Misbehavior("endless-chunks", "Sends chunks that never end.", expecting: .tooLarge) { _ in
                let chunk = Data("10000\r\n".utf8) + block + Data("\r\n".utf8)
                return [.receiveRequest, .send(head + "Transfer-Encoding: chunked\r\n\r\n"), .sendUntilClosed(chunk)]
            },
            Misbehavior("endless-error-body", "Sends a 500 with a body that never ends.", expecting: .tooLarge) { _ in
                [.receiveRequest, .send("HTTP/1.1 500 Internal Server Error\r\n\r\n"), .sendUntilClosed(block)]
            },
        ]
    }()
}
