import Foundation

/// A form with files, as `multipart/form-data` (RFC 7578).
///
/// Files are read while they are sent. The form can be sent again, for a retry or after a redirect with 307 or 308.
///
/// ```swift
/// var form = MultipartForm()
/// form.append("tabby", named: "color")
/// form.append(file: url, named: "photo", contentType: "image/jpeg")
/// ```
public struct MultipartForm: Sendable {
    private struct Part: Sendable {
        let disposition: String
        /// The content type that the caller named. `nil` if the caller named none.
        let contentType: String?
        let isFile: Bool
        let content: HTTPBody.Segment

        /// Makes the lines before the part's bytes, including the empty line.
        /// - Parameter own: The header fields of the body that a closure made.
        /// - Throws: `InvalidRequest` for a field that would inject a line.
        func head(_ own: HTTPHeaders = [:]) throws -> Data {
            var fields = own
            fields[HeaderName.contentDisposition] = nil
            let named = contentType ?? own[HeaderName.contentType] ?? (isFile ? "application/octet-stream" : nil)
            fields[HeaderName.contentType] = nil
            var lines = [(name: HeaderName.contentDisposition, value: disposition)]
            if let named { lines.append((HeaderName.contentType, named)) }
            for field in fields { lines.append((field.name, field.value)) }
            guard lines.allSatisfy({ ($0.name + $0.value).unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 } }) else {
                throw InvalidRequest("the form has a control character in a name or a header field")
            }
            return Data((lines.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n").utf8)
        }

        /// Makes the segments of the header fields and of the content.
        func segments() throws -> [HTTPBody.Segment] {
            // Fails immediately for a control character, even if the content is made later.
            let head = try head()
            guard case .deferred(let make) = content else { return [.data(head), content] }
            return [
                .deferred {
                    let body = try await make()
                    return HTTPBody(segments: [.data(try self.head(body.headers)), .deferred { body }], headers: [:])
                }
            ]
        }
    }

    private enum Element: Sendable {
        case part(Part)
        /// Parts that a closure adds when the form is about to be sent.
        case deferred(@Sendable (inout MultipartForm) async throws -> Void)
    }

    private var elements: [Element] = []
    private let seed: String

    /// Makes an empty form.
    public init() {
        var generator = SystemRandomNumberGenerator()
        seed = (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
    }

    /// Adds a field.
    /// - Parameters:
    ///   - text: The field's value.
    ///   - name: The field's name.
    public mutating func append(_ text: String, named name: String) { add(.data(Data(text.utf8)), name, fileName: nil, contentType: nil) }

    /// Adds bytes.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The field's name.
    ///   - fileName: The file name that is sent to the server. `nil` for a field that is not a file.
    ///   - contentType: The content type of the bytes. `nil` for none, or for `application/octet-stream` if there is a file name.
    public mutating func append(_ data: Data, named name: String, fileName: String? = nil, contentType: String? = nil) {
        add(.data(data), name, fileName: fileName, contentType: contentType)
    }

    /// Adds a file. If the file cannot be read, the request fails with `NessError.Kind.invalidRequest`.
    /// - Parameters:
    ///   - file: The URL of the file.
    ///   - name: The field's name.
    ///   - fileName: The file name that is sent to the server. `nil` for the file's own name.
    ///   - contentType: The content type of the file. `nil` for `application/octet-stream`.
    public mutating func append(file: URL, named name: String, fileName: String? = nil, contentType: String? = nil) {
        add(.file(FileSlice(file)), name, fileName: fileName ?? file.lastPathComponent, contentType: contentType)
    }

    /// Adds a part that a closure makes when the form is about to be sent, for example a picture that has to be scaled, or a sequence
    /// (`HTTPBody.stream(_:length:contentType:)`).
    /// - Parameters:
    ///   - name: The field's name.
    ///   - fileName: The file name that is sent to the server. `nil` for a field that is not a file.
    ///   - contentType: The content type. `nil` for that of the closure's body.
    ///   - make: Makes the body: bytes, a file or a sequence. The body's header fields become the part's. Runs off the main thread, once
    ///     for every attempt, and again after a 401 that authentication handled. An error that it throws is the request's error.
    public mutating func append(
        named name: String, fileName: String? = nil, contentType: String? = nil, _ make: @escaping @Sendable () async throws -> HTTPBody
    ) {
        add(.deferred(make), name, fileName: fileName, contentType: contentType)
    }

    /// Adds parts that a closure makes when the form is about to be sent: none, one or several.
    ///
    /// ```swift
    /// form.append(deferred: { form in
    ///     for photo in try await album.photos() {
    ///         form.append(file: photo, named: "photo")
    ///     }
    /// })
    /// ```
    /// - Parameter fill: Adds the parts to an empty form. They take the place of this call. Runs off the main thread, once for every
    ///   attempt, and again after a 401 that authentication handled. An error that it throws is the request's error.
    public mutating func append(deferred fill: @escaping @Sendable (inout MultipartForm) async throws -> Void) {
        elements.append(.deferred(fill))
    }

    private mutating func add(_ content: HTTPBody.Segment, _ name: String, fileName: String?, contentType: String?) {
        var disposition = "form-data; name=\"\(Self.escaped(Self.normalized(name)))\""
        if let fileName { disposition += "; filename=\"\(Self.escaped(fileName))\"" }
        elements.append(.part(Part(disposition: disposition, contentType: contentType, isFile: fileName != nil, content: content)))
    }

    /// Escapes a name as browsers do (WHATWG HTML, "multipart/form-data encoding algorithm"): quotes and line breaks are percent-encoded.
    private static func escaped(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            switch scalar {
            case "\r": "%0D"
            case "\n": "%0A"
            case "\"": "%22"
            default: String(scalar)
            }
        }.joined()
    }

    /// Writes each line break of a field's name as CR LF, as browsers do. They leave a file's name unchanged.
    private static func normalized(_ name: String) -> String {
        // CR LF is one Character, and no other scalar forms a Character with a CR or an LF (UAX #29, GB3 to GB5).
        String(name.map { $0 == "\r" || $0 == "\n" ? "\r\n" : $0 })
    }

    /// Makes a body of the form.
    /// - Throws: An error for a control character in a content type, or in a name other than a line break. Line breaks and quotes in names
    ///   are encoded.
    public func makeBody() throws -> HTTPBody {
        let boundary = makeBoundary()
        return HTTPBody(
            segments: try segments(boundary) + [.data(Data("--\(boundary)--\r\n".utf8))],
            headers: [HeaderName.contentType: "multipart/form-data; boundary=\(boundary)"])
    }

    /// Makes the segments of the parts, each with the boundary before it.
    private func segments(_ boundary: String) throws -> [HTTPBody.Segment] {
        var segments: [HTTPBody.Segment] = []
        for element in elements {
            switch element {
            case .part(let part):
                segments.append(.data(Data("--\(boundary)\r\n".utf8)))
                segments += try part.segments()
                segments.append(.data(Data("\r\n".utf8)))
            case .deferred(let fill):
                segments.append(
                    .deferred {
                        var form = MultipartForm()
                        try await fill(&form)
                        return HTTPBody(segments: try form.segments(boundary), headers: [:])
                    })
            }
        }
        return segments
    }

    /// Makes a boundary that does not occur in the bytes in memory. It has 128 random bits, so that a file is most unlikely to contain it.
    private func makeBoundary() -> String {
        var number = 0
        while true {
            let boundary = "ness-\(seed)-\(number)"
            let bytes = Data(boundary.utf8)
            let isTaken = elements.contains { element in
                guard case .part(let part) = element, case .data(let data) = part.content else { return false }
                return data.range(of: bytes) != nil
            }
            if !isTaken { return boundary }
            number += 1
        }
    }
}

extension MultipartForm: RedactedValue {
    /// The number of parts, where a closure that adds parts counts as one. Their content is not shown.
    package var redactedDescription: String { "multipart/form-data of \(elements.count) part\(elements.count == 1 ? "" : "s")" }
}
