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
        /// The head of the response that the sink takes. `nil` before that.
        var head: HTTPResponse?
        /// True if the sink has taken the whole body of that response.
        var isTaken = false
        /// The head of the response whose file does not have the expected size. `nil` without such a response.
        var mismatched: HTTPResponse?
        /// True if the body is decompressed on its way. No part of such a body can be requested.
        var isUnpacked = false
        /// The number of bytes that the announced part has left. `nil` for a whole file.
        var left: Int64?
    }

    private let file: PartialFile
    private let span: Int
    private let requested: RequestedBytes
    /// The number of spans into which the file is split once its length is known.
    private let spanCount: Int
    /// The treatment of a compressed file.
    private let codingRule: DownloadCoding
    /// The properties that the file must have. Its size is checked as soon as it is known.
    private let expectation: FileExpectation?
    /// The field for the version of the saved file. `nil` to request the file unconditionally.
    private let condition: (name: String, value: String)?
    /// Called when the server responds to a request for a part with the whole file.
    private let onIgnoredRange: @Sendable () -> Void
    private let state: Lock<State>

    init(
        _ file: PartialFile, generation: Int, span: Int, requested: RequestedBytes, spanCount: Int, coding: DownloadCoding = .refused,
        expectation: FileExpectation? = nil, condition: (name: String, value: String)? = nil,
        onIgnoredRange: @escaping @Sendable () -> Void = {}
    ) {
        codingRule = coding
        self.expectation = expectation
        self.condition = condition
        self.onIgnoredRange = onIgnoredRange
        self.file = file
        self.span = span
        self.requested = requested
        self.spanCount = spanCount
        state = Lock(State(generation: generation))
    }

    /// The head of the response whose body was taken as a whole. A loader may have put another response in the place of one that broke off.
    var taken: HTTPResponse? { state.withLock { $0.isTaken ? $0.head : nil } }

    /// The head of the response whose file does not have the expected size.
    var mismatched: HTTPResponse? { state.withLock { $0.mismatched } }

    var isRestartable: Bool { true }

    var progress: (completed: Int64, total: Int64?)? { file.progress }

    func adapted(_ request: HTTPRequest) throws -> HTTPRequest {
        guard request.method != .head else {
            throw NessError(.invalidRequest, NessError.Context(request: request, reason: "a HEAD brings no file to save"))
        }
        var request = request
        if codingRule != .asStored || !request.headers.contains(HeaderName.acceptEncoding) {
            request.headers[HeaderName.acceptEncoding] = "identity"
        }
        if codingRule == .asStored { request[KeepsContentCoding.self] = true }
        if let condition { request.headers[condition.name] = condition.value }
        request.headers[HeaderName.range] = requested.range
        request.headers[HeaderName.ifRange] = requested.range == nil ? nil : file.record.validator
        return request
    }

    func during(wait: () async throws -> Void) async rethrows { try await file.during(wait: wait) }

    func willSend() async throws { try await file.open() }

    // MARK: the head

    func begin(_ response: HTTPResponse, judgedBy validators: [any ResponseValidator]) async throws -> Bool {
        // A loader may send the request again.
        state.withLock { $0 = State(generation: $0.generation) }
        guard response.statusCode == 200 || response.statusCode == 206 || response.statusCode == 203 else { return false }
        let (record, generation) = file.present
        guard generation == state.withLock({ $0.generation }) else { throw CancellationError() }
        let change = try response.statusCode == 206 ? recordChange(by: response, record) : nil
        let whole = response.asWhole(by: record)
        try check(codingOf: response, whole)
        // A validator rejects the file before the first byte is written.
        for validator in validators { try whole.judge(by: validator) }
        if let change { try file.updateRecord(of: generation, change) } else { try await beginWhole(response, record, generation) }
        if let total = file.progress.total { try check(size: total, response) }
        state.withLock { $0.head = response }
        return true
    }

    /// Rejects a file that has another size than the expected one. Ends the exchange immediately, because the bytes of a file do not
    /// explain the error.
    private func check(size: Int64, _ response: HTTPResponse?) throws {
        do {
            try expectation?.check(size: size)
        } catch {
            state.withLock { $0.mismatched = response?.asWhole(by: file.record) }
            throw error
        }
    }

    /// Rejects a compressed file, unless the caller accepts it.
    private func check(codingOf response: HTTPResponse, _ whole: HTTPResponse) throws {
        let headers = whole.receivedHeaders
        let coding = ContentCoding.codings(in: headers).joined(separator: ", ")
        if coding.isEmpty { return }
        if codingRule == .asStored {
            // A loader has sent another request, without the option. Such bytes must not be mixed with compressed ones.
            guard response.headers[HeaderName.contentEncoding] == response.receivedHeaders[HeaderName.contentEncoding] else {
                throw TransportError(.malformedResponse, "the file (\(coding)) was decompressed, although it was requested as it is stored")
            }
            return
        }
        guard codingRule == .unpacked else {
            throw TransportError(.malformedResponse, "the server compressed the file (\(coding)), which was not requested")
        }
        if response.statusCode == 206 { throw RangeMismatch() }
        guard try headers.bodyFraming() != .connection else {
            throw TransportError(.malformedResponse, "the server compressed the file (\(coding)), and its end can't be detected")
        }
        state.withLock { $0.isUnpacked = true }
    }

    /// Starts the whole file: it was requested, or the server does not support ranges, or the file has changed.
    private func beginWhole(_ response: HTTPResponse, _ record: PartialRecord, _ generation: Int) async throws {
        if case .part = requested { onIgnoredRange() }
        var generation = generation
        // Other exchanges still fetch other spans. All of them have to end first.
        if record.spans.count > 1 { throw RangeMismatch() }
        // The only byte of a file may be uncounted: see `PartialFile.forgetLastByte()`.
        if record.spans != PartialRecord(source: "").spans {
            generation = try await file.restart(after: generation)
            state.withLock { [generation] in $0.generation = generation }
        }
        let isUnpacked = state.withLock { $0.isUnpacked }
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
        return { [spanCount] record in
            record.validator = validator
            record.total = size
            record.takeFields(of: response)
            record.spans = PartialRecord.spans(of: size, cutInto: spanCount)
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
        if let size = expectation?.size, count > size { try check(size: count, state.withLock { $0.head }) }
        try await file.write(data, toSpan: span, in: generation)
    }

    func didTakeBody() { state.withLock { $0.isTaken = true } }
}

extension HTTPResponse {
    /// This head as that of the whole file, even if the server sent a part.
    /// - Parameter record: The record of the file. A part need not repeat its fields.
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
