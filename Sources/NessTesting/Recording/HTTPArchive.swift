import Foundation

/// Recorded exchanges, as a file that browsers and proxies read and write too: HAR 1.2.
///
/// Of what others write, what is not needed to answer a request is let go, and what is missing is taken as empty.
public struct HTTPArchive: Sendable, Equatable {
    /// The exchanges, in the order in which they began.
    public var entries: [Entry]

    /// Makes an archive.
    /// - Parameter entries: The exchanges.
    public init(entries: [Entry] = []) { self.entries = entries }

    /// Reads an archive.
    /// - Parameter data: The JSON of a HAR file, with or without a byte order mark.
    /// - Throws: `DecodingError` where it is none, or longer than 512 MiB.
    public init(data: Data) throws {
        try Self.check(UInt64(data.count))
        let mark = Data([0xEF, 0xBB, 0xBF])
        self = try JSONDecoder().decode(HTTPArchive.self, from: data.starts(with: mark) ? Data(data.dropFirst(3)) : data)
    }

    /// Reads an archive.
    /// - Parameter file: A HAR file.
    /// - Throws: Foundation's error where it can't be read; `DecodingError` where it is no HAR file, or longer than 512 MiB.
    public init(contentsOf file: URL) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        let length = try handle.seekToEnd()
        try Self.check(length)
        try handle.seek(toOffset: 0)
        // No more than that: a device has no end.
        try self.init(data: handle.read(upToCount: Int(length)) ?? Data())
    }

    /// Refuses a file that is too long to be read into memory.
    private static func check(_ length: UInt64) throws {
        let limit: UInt64 = 512 << 20
        guard length > limit else { return }
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: [], debugDescription: "The file is longer than \(limit >> 20) MiB."))
    }

    /// The JSON of a HAR file, with sorted keys, so that equal archives are equal bytes.
    /// - Throws: `EncodingError` for a number that is not finite.
    public func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// Writes a HAR file, whole or not at all.
    /// - Parameter file: Where to; what is there is replaced.
    /// - Throws: Foundation's error where it can't be written.
    public func write(to file: URL) throws { try encoded().write(to: file, options: .atomic) }
}

extension HTTPArchive {
    /// One exchange.
    public struct Entry: Sendable, Equatable {
        /// When it began, as ISO 8601 has it.
        public var startedDateTime: String
        /// How long it took, in milliseconds.
        public var time: Double
        /// What was asked.
        public var request: Request
        /// What came.
        public var response: Response
        /// How its time was spent.
        public var timings: Timings

        /// Makes an exchange.
        /// - Parameters:
        ///   - startedDateTime: When it began, as ISO 8601 has it.
        ///   - request: What was asked.
        ///   - response: What came.
        ///   - timings: How its time was spent.
        public init(startedDateTime: String = "", request: Request, response: Response, timings: Timings = Timings()) {
            self.startedDateTime = startedDateTime
            time = timings.send + timings.wait + timings.receive
            self.request = request
            self.response = response
            self.timings = timings
        }
    }

    /// A name and a value: of a header field, a parameter or a cookie.
    public struct Pair: Sendable, Equatable, Codable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// Makes a pair.
        /// - Parameters:
        ///   - name: The name.
        ///   - value: The value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What was asked.
    public struct Request: Sendable, Equatable {
        /// The method.
        public var method: String
        /// The URL, absolute, without fragment.
        public var url: String
        /// The header fields.
        public var headers: [Pair]
        /// The body; nil where there was none.
        public var body: Content?

        /// Makes a request.
        /// - Parameters:
        ///   - method: The method.
        ///   - url: The URL, absolute.
        ///   - headers: The header fields.
        ///   - body: The body.
        public init(method: String, url: String, headers: [Pair] = [], body: Content? = nil) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }

    /// What came.
    public struct Response: Sendable, Equatable {
        /// The status code; 0 where no response came.
        public var status: Int
        /// The header fields.
        public var headers: [Pair]
        /// The body, with any content coding removed.
        public var body: Content
        /// Why no response came: the name of a `TransportError.Kind` where this library wrote it.
        public var error: String?

        /// Makes a response.
        /// - Parameters:
        ///   - status: The status code; 0 where no response came.
        ///   - headers: The header fields.
        ///   - body: The body.
        ///   - error: Why no response came.
        public init(status: Int, headers: [Pair] = [], body: Content = Content(Data()), error: String? = nil) {
            self.status = status
            self.headers = headers
            self.body = body
            self.error = error
        }
    }

    /// A body: as text, or where it is none as Base64.
    public struct Content: Sendable, Equatable {
        /// The media type.
        public var mimeType: String
        /// The text; nil where the body was left out.
        public var text: String?
        /// Whether the text is Base64.
        public var isBase64: Bool

        /// Makes a body of bytes.
        /// - Parameters:
        ///   - data: The bytes.
        ///   - mimeType: The media type.
        public init(_ data: Data, mimeType: String = "") {
            self.mimeType = mimeType
            let plain = String(data: data, encoding: .utf8)
            isBase64 = plain == nil
            text = plain ?? data.base64EncodedString()
        }

        /// Makes a body of text, or one that was left out.
        /// - Parameters:
        ///   - text: The text; nil for a body that was left out.
        ///   - mimeType: The media type.
        public init(text: String?, mimeType: String) {
            self.mimeType = mimeType
            self.text = text
            isBase64 = false
        }

        /// The bytes; nil where the body was left out, or is no Base64 though it says so.
        public var data: Data? {
            guard isBase64 else { return text.map { Data($0.utf8) } }
            return text.flatMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters) }
        }
    }

    /// How an exchange's time was spent, in milliseconds.
    public struct Timings: Sendable, Equatable {
        /// Sending the request; 0 where that is not known apart.
        public var send: Double
        /// Waiting for the header.
        public var wait: Double
        /// Receiving the body.
        public var receive: Double

        /// Makes timings, in milliseconds.
        /// - Parameters:
        ///   - send: Sending the request.
        ///   - wait: Waiting for the header.
        ///   - receive: Receiving the body.
        public init(send: Double = 0, wait: Double = 0, receive: Double = 0) {
            self.send = send
            self.wait = wait
            self.receive = receive
        }
    }
}
