import Foundation
import NessLock

/// One run of a download: fetches the missing bytes of the partial file, and gives the complete file its final name (RFC 9110, 14).
final class DownloadRun: Sendable {
    private let download: DownloadRequest
    private let file: PartialFile
    /// The version of the saved file, for a conditional request. `nil` to request the file unconditionally.
    private let version: Lock<FileVersion?>
    /// True while requests may ask for ranges. False after the server ignored a range. Only the first restart tries ranges again, because a
    /// changed file may have been the cause.
    private let usesRanges: Lock<Bool>
    /// The largest number of restarts: one for an outdated partial file, and one for a file that changed during the download. A server that
    /// causes more is faulty. After the second restart, the file is requested as a whole.
    private static let restartLimit = 2

    init(_ download: DownloadRequest, _ file: PartialFile) {
        self.download = download
        self.file = file
        version = Lock(download.savedVersion())
        usesRanges = Lock(download.isResumable)
    }

    private var target: DownloadTarget { download.target }

    func run() async throws -> HTTPResponse {
        do {
            // An earlier run may have ended after the last byte, before it renamed the file. Fetch the last byte again, so that the server
            // confirms the version.
            file.forgetLastByte()
            var fetched = try await fetchWithRestarts()
            if !fetched.isTaken, fetched.response.statusCode == 304, let version = version.withLock({ $0 }) {
                if let unchanged = unchanged(fetched.response, version), await isExpected(unchanged.file) {
                    // The partial file of another version is useless.
                    await file.abandon()
                    return unchanged
                }
                // The saved file was replaced meanwhile or is not the expected one, or the 304 names another version.
                self.version.withLock { $0 = nil }
                fetched = try await fetchWithRestarts()
            }
            if fetched.isTaken { return try await save(fetched.response) }
            // The response is an unfollowed redirect, a 401 or a failure. The steps above judge it.
            await file.close()
            return fetched.response
        } catch let error as NessError where error.underlying is FileMismatch {
            // These bytes are of no use to a later attempt.
            await file.abandon()
            throw error
        } catch {
            await file.close()
            throw error
        }
    }

    /// Gives the complete file its final name.
    private func save(_ response: HTTPResponse) async throws -> HTTPResponse {
        try Task.checkCancellation()
        var whole = response.asWhole(by: file.record)
        let destination = try destination(for: whole)
        do {
            let saved = try await file.finish(as: destination, replaces: target.replaces, expecting: target.expectation)
            whole.file = saved
            if target.isConditional { await keepVersion(of: whole, beside: saved) }
        } catch let error as FileMismatch {
            throw failure(error, whole)
        }
        return whole
    }

    private func failure(_ mismatch: FileMismatch, _ response: HTTPResponse?) -> NessError {
        download.error(.validation, mismatch.description, response: response, underlying: mismatch)
    }

    /// Chooses the final URL of the file. The caller's closure may fail.
    private func destination(for whole: HTTPResponse) throws -> URL {
        do {
            return try target.destination(for: whole)
        } catch let error as FileError {
            throw error
        } catch {
            throw download.error(.fileSystem, "no destination was chosen: \(error)", response: whole, underlying: error)
        }
    }

    /// True if a saved file has the expected properties.
    private func isExpected(_ file: URL?) async -> Bool {
        guard let file, let expectation = target.expectation else { return true }
        return await expectation.isMet(by: file)
    }

    /// Returns a 304 with the saved file. `nil` if the response does not confirm the saved file.
    private func unchanged(_ response: HTTPResponse, _ version: FileVersion) -> HTTPResponse? {
        guard case .file(let saved) = target.destination, version.isConfirmed(by: response), version.describes(saved) else { return nil }
        var unchanged = response
        unchanged.file = saved
        return unchanged
    }

    private func keepVersion(of whole: HTTPResponse, beside saved: URL) async {
        // Without the version, the next download fetches the file again.
        try? await DispatchQueue(label: "ness.file-version").run { [source = download.source] in
            if let version = FileVersion(of: whole, source: source, file: saved) {
                try version.write(beside: saved)
            } else {
                unlink(FileVersion.path(beside: saved))
            }
        }
    }

    /// True if a request can ask the server for the rest of the file.
    private var canContinue: Bool {
        let record = file.record
        return record.validator != nil && record.total != nil && usesRanges.withLock { $0 }
    }

    /// A response. `isTaken` is true if the sink has taken its body.
    private typealias Fetched = (response: HTTPResponse, isTaken: Bool)

    /// Sends requests until no byte is missing, or until the server responds without the bytes.
    private func fetchWithRestarts() async throws -> Fetched {
        var restarts = 0
        while true {
            do {
                return try await fetchSpans()
            } catch is RangeMismatch {
                restarts += 1
                // A request that must not be repeated has asked for no range, and no restart would help.
                guard download.isResumable, restarts <= Self.restartLimit else {
                    throw download.error(.malformedResponse, "the server responds to range requests with bytes that were not requested")
                }
                usesRanges.withLock { $0 = restarts == 1 }
                try await file.restart()
            }
        }
    }

    /// Fetches the missing bytes, in parallel if the file is split into several spans.
    private func fetchSpans() async throws -> Fetched {
        if let fetched = try await probe() { return fetched }
        let spans = file.record.spans
        return try await withThrowingTaskGroup(of: Fetched.self) { group in
            var missing = spans.indices.filter { !spans[$0].isComplete }[...]
            for index in missing.prefix(target.partCount) { group.addTask { [self] in try await fetch(span: index) } }
            missing = missing.dropFirst(target.partCount)
            var last: Fetched?
            while let fetched = try await group.next() {
                // A response that the sink did not take concerns all spans.
                guard fetched.isTaken else {
                    group.cancelAll()
                    return fetched
                }
                last = fetched
                if let index = missing.popFirst() { group.addTask { [self] in try await fetch(span: index) } }
            }
            guard let last else { throw RangeMismatch() }
            return last
        }
    }

    /// Requests the first byte of a file that is to be fetched in parts.
    /// - Returns: The response, if it completed the file, or if the sink did not take its body. `nil` if bytes are missing.
    private func probe() async throws -> Fetched? {
        guard file.record.isEmpty, target.partCount > 1, usesRanges.withLock({ $0 }), let first = try await fetchFirstByte() else {
            return nil
        }
        let isPart = first.isTaken && first.response.statusCode == 206
        return isPart && !file.record.isComplete ? nil : first
    }

    /// Requests the first byte, to learn the file's length and whether the server supports ranges. `nil` if the file cannot be fetched in
    /// parts.
    private func fetchFirstByte() async throws -> Fetched? {
        do {
            let fetched = try await send(span: 0, requesting: .part(from: 0, to: 1))
            // 416: the file is empty.
            return fetched.response.statusCode == 416 ? nil : fetched
        } catch is RangeMismatch {
            try await file.restart()
            return nil
        }
    }

    /// Fetches the rest of a span. If no byte of the file has arrived, requests the whole file.
    private func fetch(span index: Int) async throws -> Fetched {
        while true {
            let record = file.record, isWhole = record.isEmpty
            guard record.spans.indices.contains(index), isWhole || record.validator != nil else { throw RangeMismatch() }
            let span = record.spans[index]
            do {
                let fetched = try await send(span: index, requesting: isWhole ? .whole : .part(from: span.next, to: span.end))
                guard fetched.isTaken else { return isWhole ? fetched : try interpretUntaken(fetched.response) }
                let current = file.record.spans.indices.contains(index) ? file.record.spans[index] : nil
                if fetched.response.statusCode != 206 || current?.isComplete != false { return fetched }
                // A server may send fewer bytes than requested, but at least one.
                guard let current, current.next > span.next else { throw RangeMismatch() }
            } catch is ReceiverFellBehind {
                // Only a transport without back pressure gives up. The loop asks the server for the rest.
            }
        }
    }

    /// Interprets a response whose body the sink did not take. A 416 means either that the file is complete or that the partial file is of
    /// another version.
    private func interpretUntaken(_ response: HTTPResponse) throws -> Fetched {
        guard response.statusCode == 416 else { return (response: response, isTaken: false) }
        let record = file.record
        guard record.total == nil, let validator = record.validator, !PartialRecord.isOther(response, than: validator),
            response.headers[HeaderName.contentRange].flatMap(ContentRange.init)?.size == record.count
        else { throw RangeMismatch() }
        // Present it as an empty 206; the record supplies the file's fields.
        var part = response
        part.statusCode = 206
        part.body = Data()
        part.headers.remove(PartialRecord.fieldNames)
        return (response: part, isTaken: true)
    }

    /// Sends one request for a span, or for the whole file.
    private func send(span index: Int, requesting requested: DownloadSink.RequestedBytes) async throws -> Fetched {
        let sink = DownloadSink(
            file, of: target, span: index, requested: requested, condition: version.withLock { $0?.condition },
            onIgnoredRange: { [self] in usesRanges.withLock { $0 = false } })
        var response: HTTPResponse
        do {
            response = try await file.during(requestOf: ObjectIdentifier(sink)) { try await download.send(download.request, sink) }
        } catch let error as NessError {
            // The sink may have ended the exchange. The download continues after some of its errors.
            switch error.underlying {
            case let mismatch as RangeMismatch: throw mismatch
            case let mismatch as FileMismatch: throw failure(mismatch, sink.head?.asWhole(by: file.record))
            case let behind as ReceiverFellBehind where canContinue: throw behind
            default: throw error
            }
        }
        guard let head = sink.takenHead else { return (response: response, isTaken: false) }
        // The head tells whether the response was a part. A loader may have changed the response's status since.
        response.statusCode = head.statusCode
        return (response: response, isTaken: true)
    }
}
