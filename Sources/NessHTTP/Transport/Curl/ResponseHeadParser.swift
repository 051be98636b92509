#if os(Linux)
import Foundation

/// Parses the head of a response line by line and checks it: the status line has to be valid (RFC 9112, 4), field names have to be visible
/// ASCII, and the size is limited.
struct ResponseHeadParser: Sendable {
    /// A complete head.
    struct Head: Sendable, Equatable {
        var statusCode: Int
        var headers: HTTPHeaders

        /// True if the final response is still to come.
        var isInterim: Bool { statusCode < 200 }
    }

    private var statusCode: Int?
    private var headers = HTTPHeaders()
    /// The size of the header fields of all heads so far. After the final head, the size of the trailer.
    private var byteCount = 0
    private var interimCount = 0
    /// True once a line has arrived.
    private(set) var hasBegun = false
    /// True once the final head is complete. Later lines are trailers.
    private(set) var isComplete = false
    /// The trailer fields so far.
    private(set) var trailers = HTTPHeaders()
    /// True after a trailer field, which a folded line may continue.
    private var isInField = false
    /// True if the last status line is one of HTTP/1.
    private(set) var isHTTP1 = false

    /// Parses a line.
    /// - Parameter line: The line, with or without the line break.
    /// - Returns: The head, if the line is the empty line that ends one. Several interim (1xx) heads may come before the final head.
    /// - Throws: `TransportError` of the kind `malformedResponse`.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>) throws -> Head? {
        hasBegun = true
        if isComplete || (statusCode != nil && line.count > 2) { byteCount += line.count }
        guard byteCount <= HTTPHeaders.maximumByteCount else { throw HTTPHeaders.tooLong(isComplete ? "trailer" : "header") }
        var count = line.count
        if count > 0, line[count - 1] == UInt8(ascii: "\n") { count -= 1 }
        if count > 0, line[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        let bytes = UnsafeBufferPointer(rebasing: line[..<count])
        if isComplete {
            // An invalid trailer field is ignored. It does not make the response invalid.
            isInField = (try? Self.add(bytes, to: &trailers, isInField)) != nil
            return nil
        }
        guard let statusCode else {
            self.statusCode = try Self.statusCode(of: bytes)
            headers.reserveCapacity(12)
            isHTTP1 = bytes["HTTP/".utf8.count] == UInt8(ascii: "1")
            return nil
        }
        guard bytes.isEmpty else {
            // An invalid line ends the response, so a folded line always continues the last field.
            try Self.add(bytes, to: &headers, true)
            return nil
        }
        if statusCode == 101 { throw Self.malformed("the server switched protocols, which was not requested") }
        let head = Head(statusCode: statusCode, headers: headers)
        self.statusCode = nil
        headers = HTTPHeaders()
        guard head.isInterim else {
            if isHTTP1 { try Self.checkTransferCoding(in: head.headers) }
            isComplete = true
            byteCount = 0
            return head
        }
        interimCount += 1
        guard interimCount <= HeadChoice.maximumInterimCount else {
            throw HeadChoice.tooManyInterim
        }
        return head
    }

    /// Checks that libcurl knows where the body ends. Some versions accept a transfer coding that they do not know, and ignore it.
    private static func checkTransferCoding(in headers: HTTPHeaders) throws {
        guard headers.contains(HeaderName.transferEncoding) else { return }
        let codings = headers.members(of: HeaderName.transferEncoding).map(\.asciiLowercased).filter { !$0.isEmpty && $0 != "identity" }
        guard codings.isEmpty || codings == ["chunked"] else {
            throw malformed("the server sent a transfer coding that was not requested (\(codings.joined(separator: ", ").prefix(80)))")
        }
    }

    /// Adds a field, or a folded line to the field before it (RFC 9112, 5.2). An engine's thread parses the heads of many responses, so it
    /// looks at each byte once.
    private static func add(_ line: UnsafeBufferPointer<UInt8>, to fields: inout HTTPHeaders, _ isInField: Bool) throws {
        if let first = line.first, isWhiteSpace(first) {
            guard isInField, let field = fields.last else { throw malformed("a folded header line continues no field") }
            // libcurl may have read the body's length from the first line only. Later versions join the lines first.
            let isFraming = [HeaderName.contentLength, HeaderName.transferEncoding].contains(where: field.name.equalsIgnoringCase)
            guard !isFraming else { throw malformed("the field \(field.name) is folded") }
            return fields.continueLast(with: try value(of: line))
        }
        var colon = 0, isVisible = true
        while colon < line.count, line[colon] != UInt8(ascii: ":") {
            isVisible = isVisible && line[colon] > 32 && line[colon] < 127
            colon += 1
        }
        guard colon > 0, colon < line.count else { throw malformed("a header line has no name") }
        guard isVisible else { throw malformed("a header's name is not visible ASCII") }
        let name = UnsafeBufferPointer(rebasing: line[..<colon])
        fields.add(try value(of: UnsafeBufferPointer(rebasing: line[(colon + 1)...])), for: String(decoding: name, as: UTF8.self))
    }

    /// Returns the value of a field, or of a part of it, without the white space around it.
    private static func value(of bytes: UnsafeBufferPointer<UInt8>) throws -> String {
        var start = 0, end = bytes.count
        while start < end, isWhiteSpace(bytes[start]) { start += 1 }
        while end > start, isWhiteSpace(bytes[end - 1]) { end -= 1 }
        var bits: UInt8 = 0
        for index in start..<end {
            let byte = bytes[index]
            if byte == 0 || byte == 10 || byte == 13 { throw malformed("the value of a header has a control character") }
            bits |= byte
        }
        let value = UnsafeBufferPointer(rebasing: bytes[start..<end])
        return bits < 128 ? String(decoding: value, as: UTF8.self) : text(value)
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Decodes UTF-8, or otherwise ISO 8859-1: a field may contain either (RFC 9110, 5.5).
    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static let versions = ["HTTP/1.1", "HTTP/2", "HTTP/1.0", "HTTP/2.0", "HTTP/3"]

    private static func statusCode(of line: UnsafeBufferPointer<UInt8>) throws -> Int {
        let version = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = line[version.endIndex...].dropFirst()
        let digits = rest.prefix { $0 != UInt8(ascii: " ") }
        guard digits.count == 3, digits.allSatisfy(\.isDigit),
            versions.contains(where: { version.elementsEqual($0.utf8) }),
            case let statusCode = digits.reduce(0, { 10 * $0 + Int($1 - UInt8(ascii: "0")) }), statusCode >= 100
        else {
            let text = String(decoding: line, as: UTF8.self)
            throw malformed("not an HTTP status line: \(String(text.prefix(40)).debugDescription)")
        }
        return statusCode
    }

    private static func malformed(_ reason: String) -> TransportError { TransportError(.malformedResponse, reason) }
}
#endif
