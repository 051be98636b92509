import Foundation
import NessHTTP

/// A parsed request head. The body has not been read yet.
struct IncomingRequest {
    /// The framing of the body.
    enum Framing: Equatable {
        case length(Int)
        case chunked
    }

    /// The largest request body, in bytes.
    static let bodyLimit = 1 << 30

    let method: HTTPMethod
    let target: String
    let headers: HTTPHeaders
    let framing: Framing
    let isHTTP10: Bool
    /// True if the client keeps the connection open for a further request.
    let keepsAlive: Bool
    /// True if the client waits for a 100 before it sends the body.
    let expectsContinue: Bool

    /// Parses a head.
    /// - Parameter lines: The request line and the field lines, without their ends.
    /// - Throws: `ConnectionEnd.refused` if the head breaks RFC 9112.
    init(lines: [[UInt8]]) throws {
        let parts = lines.first?.split(separator: 32, omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, Self.isToken(parts[0]), !parts[1].isEmpty, parts[1].allSatisfy({ $0 > 32 && $0 != 127 }) else {
            throw Self.malformed("request line")
        }
        let version = String(decoding: parts[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            guard version.hasPrefix("HTTP/") else { throw Self.malformed("HTTP version") }
            throw ConnectionEnd.refused(status: 505, text: "unsupported \(version)")
        }
        method = HTTPMethod(rawValue: String(decoding: parts[0], as: UTF8.self))
        target = String(decoding: parts[1], as: UTF8.self)
        isHTTP10 = version == "HTTP/1.0"
        headers = try Self.fields(lines.dropFirst())
        guard isHTTP10 || headers.values(for: "Host").count == 1 else { throw Self.malformed("Host") }
        framing = try Self.framing(headers)
        let connection = Self.tokens(headers["Connection"])
        keepsAlive = isHTTP10 ? connection.contains("keep-alive") : !connection.contains("close")
        expectsContinue = !isHTTP10 && framing != .length(0) && Self.tokens(headers["Expect"]).contains("100-continue")
    }

    /// Parses the field lines of a head or of trailers.
    /// - Parameter lines: The lines without their ends.
    /// - Throws: `ConnectionEnd.refused` if a line is malformed.
    static func fields(_ lines: some Sequence<[UInt8]>) throws -> HTTPHeaders {
        var headers = HTTPHeaders()
        for line in lines {
            guard let colon = line.firstIndex(of: 58), isToken(line[..<colon]) else { throw malformed("header field") }
            let value = line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }
            guard value.allSatisfy({ $0 >= 32 || $0 == 9 }) else { throw malformed("header field value") }
            let trimmed = value.prefix(upTo: value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? value.startIndex)
            headers.add(String(decoding: trimmed, as: UTF8.self), for: String(decoding: line[..<colon], as: UTF8.self))
        }
        return headers
    }

    /// Returns the elements of a comma-separated list, in lower case.
    static func tokens(_ value: String?) -> [String] {
        guard let value else { return [] }
        return value.split(separator: ",").map { $0.lowercased().trimmingCharacters(in: .whitespaces) }
    }

    private static func framing(_ headers: HTTPHeaders) throws -> Framing {
        let lengths = Set(headers.values(for: "Content-Length"))
        if headers.contains("Transfer-Encoding") {
            guard lengths.isEmpty, tokens(headers["Transfer-Encoding"]) == ["chunked"] else { throw malformed("Transfer-Encoding") }
            return .chunked
        }
        guard let length = lengths.first else { return .length(0) }
        let isNumber = !length.isEmpty && length.utf8.allSatisfy { $0 >= 48 && $0 <= 57 }
        guard lengths.count == 1, isNumber else { throw malformed("Content-Length") }
        guard let count = Int(length), count <= bodyLimit else { throw ConnectionEnd.refused(status: 413, text: "body too large") }
        return .length(count)
    }

    private static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { isTokenByte[Int($0)] }
    }

    private static let isTokenByte: [Bool] = (0..<256).map { byte in
        guard byte < 128 else { return false }
        let character = Character(UnicodeScalar(UInt8(byte)))
        return character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character)
    }

    private static func malformed(_ what: String) -> ConnectionEnd { .refused(status: 400, text: "malformed \(what)") }
}
