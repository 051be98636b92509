import Foundation

/// Takes the body of one exchange of a download into its place in the partial file, if it is what was asked for.
final class DownloadSink: BodySink {
    /// What is there can't be continued with what comes: begin anew.
    struct Mismatch: Error {}

    private let file: PartialFile
    private let span: Int
    /// The bytes that were asked for; nil for all.
    private let asked: Range<Int64>?
    /// Into how many parts to cut, once the head tells how.
    private let spanCount: Int
    private let validators: [any ResponseValidator]
    /// Whether the server may know ranges; shared by the exchanges of a download.
    private let mayKnowRanges: Lock<Bool>
    private let head = Lock<HTTPResponse?>(nil)

    /// - Parameter asked: The bytes that were asked for, up to the end of the file where that is its upper bound; nil for all.
    init(
        _ file: PartialFile, span: Int, asked: Range<Int64>?, spanCount: Int, validators: [any ResponseValidator], mayKnowRanges: Lock<Bool>
    ) {
        self.mayKnowRanges = mayKnowRanges
        self.file = file
        self.span = span
        self.asked = asked
        self.spanCount = spanCount
        self.validators = validators
    }

    /// The head of the response that was taken.
    var taken: HTTPResponse? { head.withLock { $0 } }

    var isRestartable: Bool { true }

    var mayFallBehind: Bool {
        let record = file.record
        return record.validator != nil && record.total != nil && mayKnowRanges.withLock { $0 }
    }

    var progress: (completed: Int64, total: Int64?) { file.progress }

    func begin(_ response: HTTPResponse) throws -> Bool {
        guard response.statusCode == 200 || response.statusCode == 206 || response.statusCode == 203 else { return false }
        let coding = response.headers["content-encoding"]?.lowercased() ?? "identity"
        guard coding == "identity" else {
            throw TransportError(.malformedResponse, "the file comes compressed (\(coding)), which was not asked for")
        }
        // Whoever refuses it refuses it before a byte is kept.
        for validator in validators { try response.asWhole().judge(by: validator) }
        if response.statusCode == 206 { try beginPart(response) } else { try beginWhole(response) }
        head.withLock { $0 = response }
        return true
    }

    /// The whole comes: because it was asked for, because the server knows no ranges, or because the file has changed.
    private func beginWhole(_ response: HTTPResponse) throws {
        if asked != nil { mayKnowRanges.withLock { $0 = false } }
        if file.record.spans.count > 1 { throw Mismatch() }
        if file.record.count > 0 { try file.restart() }
        file.begin(validator: PartialRecord.validator(of: response), total: response.contentLength)
    }

    private func beginPart(_ response: HTTPResponse) throws {
        guard let asked else { throw TransportError(.malformedResponse, "a part of the file came, where the whole was asked for") }
        guard let range = response.headers["content-range"].flatMap(ContentRange.init), let bytes = range.bytes,
            bytes.lowerBound == asked.lowerBound, bytes.upperBound < asked.upperBound
        else { throw Mismatch() }
        let record = file.record
        guard let total = record.total else {
            // The first part: it tells how long the whole is. What can't be continued is fetched as a whole.
            guard let size = range.size, let validator = PartialRecord.validator(of: response) else { throw Mismatch() }
            return file.begin(validator: validator, total: size, spanCount: spanCount)
        }
        // Another version of the file must not be mixed in.
        guard range.size == nil || range.size == total, let validator = record.validator else { throw Mismatch() }
        if let tag = response.headers["etag"], validator.hasPrefix("\""), tag != validator { throw Mismatch() }
        if let date = response.headers["last-modified"], !validator.hasPrefix("\""), date != validator { throw Mismatch() }
    }

    func write(_ data: Data) throws { try file.write(data, toSpan: span) }
}

extension HTTPResponse {
    /// The head as that of the whole file, whatever part of it came.
    func asWhole(total: Int64? = nil) -> HTTPResponse {
        guard statusCode == 206 else { return self }
        var whole = self
        whole.statusCode = 200
        let size = total ?? headers["content-range"].flatMap(ContentRange.init)?.size
        whole.headers.remove("Content-Range")
        whole.headers.remove("Content-Length")
        if let size { whole.headers["Content-Length"] = "\(size)" }
        return whole
    }

    /// The length that the head tells, where nothing else tells it.
    fileprivate var contentLength: Int64? { headers.contains("transfer-encoding") ? nil : headers["content-length"].flatMap { Int64($0) } }
}
