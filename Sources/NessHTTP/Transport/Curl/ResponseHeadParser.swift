#if canImport(CNessCurl)
import Foundation

/// Parses the head of a response line by line and checks it: the status line has to be valid (RFC 9112, 4), field names have to be tokens,
/// and the size is limited.
struct ResponseHeadParser: Sendable {
    /// A complete head.
    struct Head: Sendable, Equatable {
        var statusCode: Int
        var headers: HTTPHeaders

        /// True if the response itself is still to come.
        var isInterim: Bool { statusCode < 200 }
    }

    /// The largest head, with the interim heads before it, and the largest trailer, in bytes.
    static let maximumBytes = 100 << 10
    /// The largest number of interim heads. Each restarts the idle timeout, so an endless number would hold a request for ever.
    static let maximumInterimCount = 1_000

    private var statusCode: Int?
    private var headers = HTTPHeaders()
    private var byteCount = 0
    private var interimCount = 0
    /// True once a line has arrived.
    private(set) var hasBegun = false
    /// True once the final head is complete. Later lines are trailers.
    private(set) var isComplete = false
    /// True if the last status line is one of HTTP/1.
    private(set) var isHTTP1 = false

    /// Parses a line.
    /// - Parameter line: The line, with or without the line break.
    /// - Returns: The head, if the line is the empty line that ends one. Several interim (1xx) heads may come before the final head.
    /// - Throws: `TransportError` of the kind `malformedResponse`.
    mutating func read(_ line: some Collection<UInt8>) throws -> Head? {
        hasBegun = true
        byteCount += line.count
        guard byteCount <= Self.maximumBytes else {
            throw Self.malformed("the response's \(isComplete ? "trailer" : "header") is longer than \(Self.maximumBytes) bytes")
        }
        // Trailers are ignored, but they must have an end.
        if isComplete { return nil }
        var bytes = Array(line)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let statusCode else {
            self.statusCode = try Self.statusCode(of: bytes)
            isHTTP1 = bytes.starts(with: "HTTP/1".utf8)
            return nil
        }
        guard bytes.isEmpty else {
            try add(bytes)
            return nil
        }
        if statusCode == 101 { throw Self.malformed("the server switched protocols unasked") }
        let head = Head(statusCode: statusCode, headers: headers)
        self.statusCode = nil
        headers = HTTPHeaders()
        guard head.isInterim else {
            isComplete = true
            byteCount = 0
            return head
        }
        interimCount += 1
        guard interimCount <= Self.maximumInterimCount else {
            throw Self.malformed("more than \(Self.maximumInterimCount) interim responses came")
        }
        return head
    }

    private mutating func add(_ line: [UInt8]) throws {
        if line[0] == UInt8(ascii: " ") || line[0] == UInt8(ascii: "\t") {
            throw Self.malformed("a header line begins with white space")
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { throw Self.malformed("a header line has no name") }
        let name = line[..<colon]
        guard name.allSatisfy({ $0 > 32 && $0 < 127 }) else { throw Self.malformed("a header's name is not a token") }
        let value = line[(colon + 1)...].trimmingWhiteSpace()
        guard !value.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
            throw Self.malformed("the value of a header has a control character")
        }
        headers.add(Self.text(value), for: Self.text(name))
    }

    /// Decodes UTF-8, or otherwise ISO 8859-1: a field may contain either (RFC 9110, 5.5).
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static func statusCode(of line: [UInt8]) throws -> Int {
        let text = String(decoding: line, as: UTF8.self)
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, ["HTTP/1.1", "HTTP/1.0", "HTTP/2", "HTTP/2.0", "HTTP/3"].contains(parts[0]),
            parts[1].utf8.count == 3, parts[1].utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let statusCode = Int(parts[1]),
            (100...999).contains(statusCode)
        else { throw malformed("the status line is not one of HTTP: \(String(text.prefix(40)).debugDescription)") }
        return statusCode
    }

    private static func malformed(_ reason: String) -> TransportError { TransportError(.malformedResponse, reason) }
}

extension ArraySlice<UInt8> {
    fileprivate func trimmingWhiteSpace() -> ArraySlice<UInt8> {
        var trimmed = self
        while let first = trimmed.first, first == 32 || first == 9 { trimmed.removeFirst() }
        while let last = trimmed.last, last == 32 || last == 9 { trimmed.removeLast() }
        return trimmed
    }
}
#endif
