import Foundation
import NessLock

/// Writes the body of one exchange of a download to its place in the partial file, if the response is what the download requested.
final class DownloadSink: BodySink {
    /// The bytes that the exchange requested.
    enum RequestedBytes: Sendable {
        case whole
        /// The bytes from `from` up to, but not including, `to`. `nil` for `to` means the end of the file.
        case part(from: Int64, to: Int64?)

        /// The value of the `Range` field (RFC 9110, 14.2).
        fileprivate var range: String? {
            switch self {
            case .whole: nil
            case .part(let start, let end): "bytes=\(start)-" + (end.map { "\($0 - 1)" } ?? "")
            }
        }
    }

    private struct State: Sendable {
        /// The number of the partial file's generation that this exchange belongs to: see `PartialFile`.
        var generation: Int
        /// The head of the response for which the sink has started the file. `nil` before that.
        var head: HTTPResponse?
        /// True if the sink has taken the whole body of that response.
        var isTaken = false
        /// The number of bytes that the announced part has left. `nil` for a whole file.
        var left: Int64?
    }

    private let file: PartialFile
    private let target: DownloadTarget
    private let span: Int
    private let requested: RequestedBytes
    /// The field for the version of the saved file. `nil` to request the file unconditionally.
    private let condition: (name: String, value: String)?
    /// Called when the server responds to a request for a part with the whole file.
    private let onIgnoredRange: @Sendable () -> Void
    private let state: Lock<State>

    init(
        _ file: PartialFile, of target: DownloadTarget, span: Int, requested: RequestedBytes,
        condition: (name: String, value: String)? = nil, onIgnoredRange: @escaping @Sendable () -> Void = {}
    ) {
        self.file = file
        self.target = target
        self.span = span
        self.requested = requested
        self.condition = condition
        self.onIgnoredRange = onIgnoredRange
        state = Lock(State(generation: file.recordAndGeneration.generation))
    }

    /// The head of the response whose body was taken completely. `nil` if the body broke off: a loader may have returned another response
    /// instead.
    var takenHead: HTTPResponse? { state.withLock { $0.isTaken ? $0.head : nil } }

    /// The head of the response for which the sink has started the file, even if its body was not taken.
    var head: HTTPResponse? { state.withLock { $0.head } }

    var isRestartable: Bool { true }

    var progress: (completed: Int64, total: Int64?)? { file.progress }

    func reportProgress(to report: @escaping @Sendable (Int64, Int64?) -> Void) { file.reportProgress(to: report) }

    func adapted(_ request: HTTPRequest) throws -> HTTPRequest {
        guard request.method != .head else {
            throw NessError(.invalidRequest, NessError.Context(request: request, reason: "a HEAD brings no file to save"))
        }
        var request = request
        if target.coding != .asStored || !request.headers.contains(HeaderName.acceptEncoding) {
            request.headers[HeaderName.acceptEncoding] = "identity"
        }
        if target.coding == .asStored { request[KeepsContentCoding.self] = true }
        if let condition { request.headers[condition.name] = condition.value }
        request.headers[HeaderName.range] = requested.range
        request.headers[HeaderName.ifRange] = requested.range == nil ? nil : file.record.validator
        return request
    }

    func during(wait: () async throws -> Void) async rethrows { try await file.during(waitOf: ObjectIdentifier(self), wait) }

    func willSend() async throws { try await file.open() }

    // MARK: the head

    func begin(_ response: HTTPResponse, judgedBy validators: [any ResponseValidator]) async throws -> Bool {
        // A loader may send the request again.
        state.withLock { $0 = State(generation: $0.generation) }
        guard response.statusCode == 200 || response.statusCode == 206 || response.statusCode == 203 else { return false }
        let (record, generation) = file.recordAndGeneration
        guard generation == state.withLock({ $0.generation }) else { throw CancellationError() }
        let change = try response.statusCode == 206 ? recordChange(by: response, record) : nil
        let whole = response.asWhole(by: record)
        let isUnpacked = try checkCoding(of: response, whole)
        // A validator rejects the file before the first byte is written.
        for validator in validators { try whole.judge(by: validator) }
        if let change {
            try file.updateRecord(of: generation, change)
        } else {
            try await beginWhole(response, isUnpacked: isUnpacked, record, generation)
        }
        state.withLock { $0.head = response }
        // If the announced size is wrong, the exchange ends here: the bytes of a file would not explain the error.
        if let total = file.progress.total { try target.expectation?.check(size: total) }
        return true
    }

    /// Rejects a compressed file, unless the caller accepts it.
    /// - Returns: True if the body is decompressed on its way. No part of such a body can be requested.
    private func checkCoding(of response: HTTPResponse, _ whole: HTTPResponse) throws -> Bool {
        let headers = whole.receivedHeaders
        let coding = ContentCoding.codings(in: headers).joined(separator: ", ")
        if coding.isEmpty { return false }
        if target.coding == .asStored {
            // A loader has sent another request, without the option. Such bytes must not be mixed with compressed ones.
            guard response.headers[HeaderName.contentEncoding] == response.receivedHeaders[HeaderName.contentEncoding] else {
                throw TransportError(.malformedResponse, "the file (\(coding)) was decompressed, although it was requested as it is stored")
            }
            return false
        }
        guard target.coding == .unpacked else {
            throw TransportError(.malformedResponse, "the server compressed the file (\(coding)), which was not requested")
        }
        if response.statusCode == 206 { throw RangeMismatch() }
        guard try headers.bodyFraming() != .connection else {
            throw TransportError(.malformedResponse, "the server compressed the file (\(coding)), and its end can't be detected")
        }
        return true
    }

    /// Starts the whole file: it was requested, or the server does not support ranges, or the file has changed.
    private func beginWhole(_ response: HTTPResponse, isUnpacked: Bool, _ record: PartialRecord, _ generation: Int) async throws {
        if case .part = requested { onIgnoredRange() }
        var generation = generation
        // Other exchanges still fetch other spans. All of them have to end first.
        if record.spans.count > 1 { throw RangeMismatch() }
        // The spans are compared, because a record of 0 bytes may be about a file of one byte: see `PartialFile.forgetLastByte()`.
        if record.spans != PartialRecord(source: "").spans {
            generation = try await file.restart(after: generation)
            state.withLock { [generation] in $0.generation = generation }
        }
        // The length and the validator describe the compressed file.
        let total = isUnpacked ? nil : response.contentLength
        try file.updateRecord(of: generation) { record in
            record.validator = isUnpacked ? nil : PartialRecord.validator(of: response)
            record.total = total
            record.takeFields(of: response)
            record.spans = [PartialRecord.Span(start: 0, end: total)]
        }
    }

    /// Checks that a part is the requested one, and that it continues the received bytes.
    /// - Returns: The change of the record.
    private func recordChange(by response: HTTPResponse, _ record: PartialRecord) throws -> @Sendable (inout PartialRecord) -> Void {
        guard case .part(let start, let end) = requested else {
            throw TransportError(.malformedResponse, "the server sent a part of the file, although the whole file was requested")
        }
        // A multipart response (RFC 9110, 14.6) was not requested.
        let isMultipart = response.headers[HeaderName.contentType]?.lowercased().hasPrefix("multipart/byteranges") == true
        guard !isMultipart, let range = response.headers[HeaderName.contentRange].flatMap(ContentRange.init), let bytes = range.bytes,
            bytes.lowerBound == start, end.map({ bytes.upperBound < $0 }) ?? true
        else { throw RangeMismatch() }
        let length = bytes.upperBound - bytes.lowerBound + 1
        if let announced = response.contentLength, announced != length { throw RangeMismatch() }
        state.withLock { $0.left = length }
        // A loader may have sent the request before, and a part of the bytes may have been written.
        guard record.spans.indices.contains(span), record.spans[span].next == start else { throw RangeMismatch() }
        if let validator = record.validator {
            // Bytes of another version must not be mixed in.
            if PartialRecord.isOther(response, than: validator) { throw RangeMismatch() }
            if let total = record.total {
                guard range.size ?? total == total else { throw RangeMismatch() }
                return { _ in }
            }
            guard let size = range.size, record.spans.count == 1 else { throw RangeMismatch() }
            return { record in
                record.total = size
                record.spans[0].end = size
            }
        }
        // The first part announces the length of the file. A file that cannot be resumed is fetched as a whole.
        guard start == 0, let size = range.size, let validator = PartialRecord.validator(of: response) else { throw RangeMismatch() }
        return { [count = target.partCount] record in
            record.validator = validator
            record.total = size
            record.takeFields(of: response)
            record.spans = PartialRecord.spans(of: size, cutInto: count)
        }
    }

    // MARK: the body

    func write(_ data: Data) async throws {
        let generation: Int = try state.withLock { state in
            if let left = state.left {
                guard Int64(data.count) <= left else { throw RangeMismatch() }
                state.left = left - Int64(data.count)
            }
            return state.generation
        }
        // Without an announced length, the server could send bytes without end.
        let count = file.progress.completed + Int64(data.count)
        if let expectation = target.expectation, let size = expectation.size, count > size { try expectation.check(size: count) }
        try await file.write(data, toSpan: span, in: generation)
    }

    func didTakeBody() { state.withLock { $0.isTaken = true } }
}

extension HTTPResponse {
    /// This response as if the server had sent the whole file.
    /// - Parameter record: The record of the file. It supplies the fields that a part does not repeat.
    func asWhole(by record: PartialRecord) -> HTTPResponse {
        guard statusCode == 206 else { return self }
        var whole = self
        whole.statusCode = 200
        let size = record.total ?? headers[HeaderName.contentRange].flatMap(ContentRange.init)?.size
        whole.headers.remove(HeaderName.contentRange)
        whole.headers[HeaderName.contentLength] = size.map { "\($0)" }
        for name in PartialRecord.fieldNames where !headers.contains(name) { whole.headers[name] = record.fields[name] }
        return whole
    }

    /// The announced length of the body; `nil` for chunks, and without a Content-Length.
    fileprivate var contentLength: Int64? {
        if case .length(let length)? = try? headers.bodyFraming() { length } else { nil }
    }
}
