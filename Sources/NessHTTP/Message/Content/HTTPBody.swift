import Foundation

/// The content of a request, with the header fields that describe it.
///
/// A body consists of bytes, of files, of sequences, or of several of these in a row. Files and sequences are read while they are sent, so
/// they need not fit in memory.
///
/// ```swift
/// let body = try HTTPBody.json(encoding: user)
/// let film = HTTPBody(file: url, contentType: "video/mp4")
/// let rest = HTTPBody(file: url, offset: 1_000_000)
/// let live = HTTPBody.stream(camera.frames)
/// ```
public struct HTTPBody: Sendable, Equatable {
    /// A piece of the content.
    package enum Segment: Sendable {
        case data(Data)
        /// A file, or a slice of one.
        case file(FileSlice)
        /// A sequence that is read while it is sent.
        case stream(BodyStream)
        /// Bytes that a closure reads, by their offset and the largest number to return.
        case stored(length: Int64, read: @Sendable (Int64, Int) throws -> Data)
        /// A part that a closure makes just before the body is sent.
        case deferred(@Sendable () async throws -> HTTPBody)
    }

    package var segments: [Segment]
    /// Changes the body just before it is sent, when the closures of its parts have run: compresses it, for example.
    package var finish: (@Sendable (HTTPBody) async throws -> HTTPBody)?
    /// The header fields that describe the content, such as `Content-Type`. A field that the request sets itself wins.
    public var headers: HTTPHeaders
    /// The start of the content before it was compressed; `nil` for a body that was not.
    var uncompressedStart: CopyOnWriteBox<Data>?

    /// Makes a body from bytes.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - headers: The header fields that describe them.
    public init(_ data: Data, headers: HTTPHeaders = [:]) { self.init(segments: [.data(data)], headers: headers) }

    /// Makes a body from bytes of a media type.
    ///
    /// ```swift
    /// let avatar = HTTPBody(jpeg, contentType: "image/jpeg")
    /// ```
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: The media type.
    public init(_ data: Data, contentType: String) { self.init(data, headers: [HeaderName.contentType: contentType]) }

    /// Makes a body from a file, or from a slice of a file.
    ///
    /// The file is opened when the request is sent. The request fails with `NessError.Kind.invalidRequest` if the file is missing, cannot
    /// be read, is not a regular file, ends before the end of the slice, or becomes shorter while it is sent.
    /// - Parameters:
    ///   - file: The file's URL.
    ///   - offset: The position of the first byte to send.
    ///   - length: The number of bytes to send. `nil` for all bytes up to the end of the file.
    ///   - contentType: The media type.
    public init(file: URL, offset: Int64 = 0, length: Int64? = nil, contentType: String = "application/octet-stream") {
        self.init(
            segments: [.file(FileSlice(file, offset: offset, length: length))], headers: [HeaderName.contentType: contentType])
    }

    package init(segments: [Segment], headers: HTTPHeaders) {
        self.segments = Self.joined(segments)
        self.headers = headers
    }

    /// Joins neighbors that are short and in memory. A form has three pieces for each part, and each piece costs a call of the transport.
    private static func joined(_ segments: [Segment]) -> [Segment] {
        guard segments.count > 1 else { return segments }
        return segments.reduce(into: []) { joined, segment in
            guard case .data(let data) = segment, data.count <= longestJoined else { return joined.append(segment) }
            if case .data(var last)? = joined.last, last.count + data.count <= longestJoined {
                // Removed first, so that no other copy shares its bytes, and they stay in place.
                joined.removeLast()
                last += data
                joined.append(.data(last))
            } else if !data.isEmpty {
                joined.append(segment)
            }
        }
    }

    /// The longest piece that joining makes, in bytes.
    private static let longestJoined = 64 << 10

    /// The bytes; `nil` if the body has a part that is not in memory.
    public var data: Data? {
        if segments.count == 1, case .data(let data) = segments[0] { return data }
        var whole = Data()
        for segment in segments {
            guard case .data(let data) = segment else { return nil }
            whole += data
        }
        return whole
    }

    /// Returns the first bytes that are in memory, without compression. Redaction searches them for the secrets that were sent.
    package func plainStart(upTo limit: Int) -> Data {
        if let uncompressedStart { return uncompressedStart.fields.prefix(limit) }
        var start = Data()
        for case .data(let data) in segments where start.count < limit { start += data.prefix(limit - start.count) }
        return start
    }

    /// The number of bytes; `nil` if it is unknown. The length of a whole file is read when the request is sent.
    public var length: Int64? {
        if finish != nil { return nil }
        var sum: Int64 = 0
        for segment in segments {
            let length: Int64?
            switch segment {
            case .data(let data): length = Int64(data.count)
            case .file(let slice): length = slice.knownLength
            case .stream(let stream): length = stream.length
            case .stored(let stored, _): length = stored
            case .deferred: length = nil
            }
            guard let length else { return nil }
            let (next, overflows) = sum.addingReportingOverflow(length)
            if overflows { return nil }
            sum = next
        }
        return sum
    }

    /// Returns `true` if both bodies have the same header fields and the same content. Files are equal if their URLs and slices are. A body
    /// with a sequence, or with a part that a closure makes, equals no other.
    public static func == (left: HTTPBody, right: HTTPBody) -> Bool {
        guard left.headers == right.headers, let mine = left.identity, let theirs = right.identity else { return false }
        return mine == theirs
    }

    /// The parts by which bodies are compared; `nil` for a body with a sequence, or with a part that a closure makes.
    package var identity: [Data]? {
        if let data { return [data] }
        var identity: [Data] = []
        for segment in segments {
            switch segment {
            case .data(let data): identity.append(Data("data:".utf8) + data)
            case .file(let slice): identity.append(slice.identity)
            case .stream, .stored, .deferred: return nil
            }
        }
        return identity
    }

    /// Returns what `finish` makes of this body's resolved form.
    package func finished(_ resolved: HTTPBody) async throws -> HTTPBody { try await finish?(resolved) ?? resolved }

    /// Makes a body from a string, as `text/plain`.
    /// - Parameters:
    ///   - text: The text.
    ///   - encoding: The character encoding.
    /// - Throws: An error if the encoding cannot represent the text.
    public static func text(_ text: String, encoding: String.Encoding = .utf8) throws -> HTTPBody {
        guard let data = text.data(using: encoding) else {
            throw InvalidRequest("the string can't be encoded as \(encoding)")
        }
        let charset = charsets[encoding].map { "; charset=\($0)" } ?? ""
        return HTTPBody(data, headers: [HeaderName.contentType: "text/plain\(charset)"])
    }

    /// Makes a body from a JSON value.
    /// - Parameter value: The value.
    /// - Throws: `EncodingError` if the value contains a number that is not finite, or nests too deep.
    public static func json(_ value: JSONValue) throws -> HTTPBody { HTTPBody(try value.encoded(), headers: jsonHeaders) }

    /// Makes a body from an `Encodable` value, as JSON.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder. `nil` uses one that sorts keys, so that equal values give equal bytes, and that leaves slashes unescaped.
    /// - Throws: The encoder's error.
    public static func json(encoding value: some Encodable, with encoder: JSONEncoder? = nil) throws -> HTTPBody {
        if let value = value as? JSONValue { return try json(value) }
        let chosen = encoder ?? JSONEncoder()
        if encoder == nil { chosen.outputFormatting = [.sortedKeys, .withoutEscapingSlashes] }
        return HTTPBody(try chosen.encode(value), headers: jsonHeaders)
    }

    static let charsets: [String.Encoding: String] = [
        .utf8: "utf-8", .ascii: "us-ascii", .isoLatin1: "iso-8859-1", .isoLatin2: "iso-8859-2", .windowsCP1250: "windows-1250",
        .windowsCP1251: "windows-1251", .windowsCP1252: "windows-1252", .windowsCP1253: "windows-1253", .windowsCP1254: "windows-1254",
        .utf16: "utf-16", .utf16BigEndian: "utf-16be", .utf16LittleEndian: "utf-16le", .utf32: "utf-32", .shiftJIS: "shift_jis",
        .japaneseEUC: "euc-jp", .iso2022JP: "iso-2022-jp",
    ]

    private static var jsonHeaders: HTTPHeaders { [HeaderName.contentType: "application/json"] }
}

extension HTTPBody: RedactedValue {
    /// The length and the header fields. The content is not shown.
    package var redactedDescription: String { "\(length.map { "\($0)" } ?? "some") bytes \(headers)" }
}
