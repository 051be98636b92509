import Foundation

/// Recorded exchanges, in a file format that browsers and proxies also read and write: HAR 1.2.
///
/// The reader ignores the members of foreign files that are not needed to replay a response. A missing member counts as empty, but the
/// body of a response with a size and no text was not recorded.
public struct HTTPArchive: Sendable, Equatable {
    /// The exchanges, in the order in which they started.
    public var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }
}

extension HTTPArchive {
    /// Reads an archive.
    /// - Parameter data: The JSON of a HAR file, with or without a byte order mark.
    /// - Throws: `DecodingError` if the data is not a HAR file, or is longer than 512 MiB.
    public init(data: Data) throws {
        try Self.check(UInt64(data.count))
        let mark = Data([0xEF, 0xBB, 0xBF])
        self = try JSONDecoder().decode(HTTPArchive.self, from: data.starts(with: mark) ? Data(data.dropFirst(3)) : data)
    }

    /// Reads an archive.
    /// - Parameter file: A HAR file.
    /// - Throws: Foundation's error if the file cannot be read; `DecodingError` if it is not a HAR file, or is longer than 512 MiB.
    public init(contentsOf file: URL) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        let length = try handle.seekToEnd()
        try Self.check(length)
        try handle.seek(toOffset: 0)
        // The read is limited to the length that was checked, because a device has no end.
        try self.init(data: Self.read(handle, Int(length)))
    }

    private static func read(_ handle: FileHandle, _ count: Int) throws -> Data {
        #if canImport(Darwin)
        // A thread that runs Swift tasks may keep autoreleased data for as long as it lives.
        try autoreleasepool { try handle.read(upToCount: count) ?? Data() }
        #else
        try handle.read(upToCount: count) ?? Data()
        #endif
    }

    /// Rejects a file that is too long to be read into memory.
    private static func check(_ length: UInt64) throws {
        let limit: UInt64 = 512 << 20
        guard length > limit else { return }
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: [], debugDescription: "The file is longer than \(limit >> 20) MiB."))
    }

    /// Returns the JSON of a HAR file. Its keys are sorted, so equal archives give equal bytes.
    /// - Throws: `EncodingError` for a number that is not finite.
    public func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// Writes a HAR file. On an error, the old file is unchanged.
    /// - Parameter file: The file to write. An existing file is replaced.
    /// - Throws: Foundation's error if the file cannot be written; `EncodingError` for a number that is not finite.
    public func write(to file: URL) throws { try encoded().write(to: file, options: .atomic) }
}

extension HTTPArchive {
    /// One exchange.
    public struct Entry: Sendable, Equatable {
        /// The start of the exchange, in ISO 8601.
        public var startedDateTime = ""
        /// The duration of the exchange, in milliseconds.
        public var time = 0.0
        /// The request.
        public var request: Request
        /// The response, or the error in its place.
        public var response: Response
        /// The durations of the exchange's phases.
        public var timings = Timings()
    }

    /// A name and a value: of a header field, a parameter or a cookie.
    public struct Pair: Sendable, Equatable, Codable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
    }

    /// A recorded request.
    public struct Request: Sendable, Equatable {
        /// The method.
        public var method: String
        /// The URL, absolute, without fragment.
        public var url: String
        /// The header fields.
        public var headers: [Pair] = []
        /// The body; `nil` if there was none.
        public var body: Content?
    }

    /// A recorded response, or the error in its place.
    public struct Response: Sendable, Equatable {
        /// The status code; 0 if no response arrived.
        public var status: Int
        /// The header fields.
        public var headers: [Pair] = []
        /// The body, with any content coding removed.
        public var body = Content(Data())
        /// The reason why no response arrived; `nil` if one did. A `RecordingTransport` writes the name of a `TransportError.Kind`.
        public var error: String?
    }

    /// A body as text. Bytes that are not UTF-8 are stored as Base64.
    public struct Content: Sendable, Equatable {
        /// The media type.
        public var mimeType: String
        /// The text; `nil` if the body was not recorded.
        public var text: String?
        /// True if the text is Base64.
        public var isBase64 = false

        /// The bytes; `nil` if the body was not recorded, or is marked as Base64 but is not.
        public var data: Data? {
            guard isBase64 else { return text.map { Data($0.utf8) } }
            return text.flatMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters) }
        }
    }

    /// The durations of an exchange's phases, in milliseconds.
    public struct Timings: Sendable, Equatable, Codable {
        /// The time to look up the host's name; `nil` if it is not known, or if the connection was open.
        public var dns: Double?
        /// The time to connect, with TLS; `nil` if it is not known, or if the connection was open.
        public var connect: Double?
        /// The time of the TLS handshake, a part of `connect`; `nil` without TLS.
        public var ssl: Double?
        /// The time to send the request; 0 if it was not measured separately.
        public var send = 0.0
        /// The time until the header arrived.
        public var wait = 0.0
        /// The time until the body was complete.
        public var receive = 0.0

        package init(send: Double = 0, wait: Double = 0, receive: Double = 0) {
            (self.send, self.wait, self.receive) = (send, wait, receive)
        }
    }
}

extension HTTPArchive.Content {
    init(_ data: Data, mimeType: String = "") {
        let plain = String(data: data, encoding: .utf8)
        self.init(mimeType: mimeType, text: plain ?? data.base64EncodedString(), isBase64: plain == nil)
    }
}

extension HTTPArchive.Timings {
    /// Reads timings. A browser writes -1 for a phase that does not apply.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        send = try container.decodeIfPresent(Double.self, forKey: .send) ?? 0
        wait = try container.decodeIfPresent(Double.self, forKey: .wait) ?? 0
        receive = try container.decodeIfPresent(Double.self, forKey: .receive) ?? 0
        func phase(_ key: CodingKeys) throws -> Double? {
            try container.decodeIfPresent(Double.self, forKey: key).flatMap { $0 < 0 ? nil : $0 }
        }
        (dns, connect, ssl) = (try phase(.dns), try phase(.connect), try phase(.ssl))
    }
}
