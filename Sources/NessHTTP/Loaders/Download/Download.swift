import Foundation

/// Has a download's body written to a partial file, continues what an attempt before left there, and gives the file its final name when it
/// is whole (RFC 9110, 14).
///
/// It stands below coalescing, so that equal downloads share one file, and above redirects, so that each range is redirected anew.
struct Download: HTTPLoader {
    let destinations = DownloadDestinations()

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard let target = request.download else { return try await next(request) }
        for name in ["Range", "If-Range", "Accept-Encoding"] where request.headers.contains(name) {
            throw TransportError(.invalidRequest, "the header \(name) is the download's to set")
        }
        do {
            let path = target.partialPath(for: request.url)
            return try await destinations.withSole(path) {
                try target.check()
                return try await DownloadRun(request, target, try PartialFile(path: path, source: request.url), next).run()
            }
        } catch let failure as FileFailure {
            throw NessError.fileSystem(NessError.Context(request: request, reason: failure.description, underlying: failure))
        }
    }
}

extension Download {
    /// Returns when what was dropped has left its file as another run will find it.
    func reset() async { await destinations.waitUntilIdle() }
}

/// One attempt at a download.
private struct DownloadRun: Sendable {
    let request: HTTPRequest
    let target: DownloadTarget
    let file: PartialFile
    let next: HTTPNext
    let mayKnowRanges = Lock(true)
    /// How many bytes are fetched at once where the disk is slower than the line.
    static let window: Int64 = 4 << 20

    init(_ request: HTTPRequest, _ target: DownloadTarget, _ file: PartialFile, _ next: HTTPNext) {
        self.request = request
        self.target = target
        self.file = file
        self.next = next
    }

    func run() async throws -> HTTPResponse {
        do {
            let response = try await fetch()
            // Not taken: a redirect's end, a 401, a failure. It is for others to judge.
            guard response.isTaken else {
                await file.close()
                return response.value
            }
            try Task.checkCancellation()
            let total = file.record.count
            var whole = response.value.asWhole(total: total)
            whole.file = try await file.finish(as: target.destination(for: whole), replaces: target.replaces)
            whole.request.sink = nil
            return whole
        } catch {
            await file.close()
            throw error
        }
    }

    private typealias Answer = (value: HTTPResponse, isTaken: Bool)

    /// Fetches until nothing is missing, or the server says something else.
    private func fetch() async throws -> Answer {
        var restarts = 0
        while true {
            do {
                if let answer = try await fetchSpans() { return answer }
            } catch is DownloadSink.Mismatch {
                // Once for what was found on the disk, once for a file that changed just now; more is a server that is out of its mind.
                restarts += 1
                guard restarts <= 3 else {
                    throw TransportError(.malformedResponse, "the server answers ranges with what was not asked for")
                }
                try file.restart()
                if restarts > 1 { return try await fetchWhole() }
            }
        }
    }

    /// Fetches what is missing, in parts side by side where the file is cut into several.
    private func fetchSpans() async throws -> Answer? {
        let record = file.record
        if record.count == 0, record.spans.count == 1 {
            guard target.segments > 1 else { return try await fetchWhole() }
            // The first byte tells how long the file is, and whether the server knows ranges.
            let answer = try await send(span: 0, asking: 0..<1)
            if !answer.isTaken || answer.value.statusCode != 206 { return answer }
            return nil
        }
        guard record.validator != nil else { throw DownloadSink.Mismatch() }
        if record.spans.allSatisfy(\.isWhole) { return try await confirm() }
        if record.spans.count == 1 { return try await fetch(span: 0) }
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            for index in record.spans.indices where !record.spans[index].isWhole { group.addTask { try await fetch(span: index) } }
            var last: Answer?
            while let answer = try await group.next() {
                // One that was not taken says what is the matter with all.
                guard answer.isTaken else {
                    group.cancelAll()
                    return answer
                }
                last = answer
            }
            return last
        }
    }

    /// All is there, but was not given its name: an earlier run ended just then. The server has to say that it is still what it was.
    private func confirm() async throws -> Answer {
        let size = file.record.count
        guard size > 0, let validator = file.record.validator else { throw DownloadSink.Mismatch() }
        let sink = makeSink(span: 0, asking: size..<size, spanCount: 1)
        let response = try await next(asking(for: "bytes=\(size)-", if: validator, sink))
        if sink.taken != nil { return (response, true) }
        guard response.statusCode == 416 else { return (response, false) }
        if let range = response.headers["content-range"].flatMap(ContentRange.init), range.size != size { throw DownloadSink.Mismatch() }
        if let tag = response.headers["etag"], validator.hasPrefix("\""), tag != validator { throw DownloadSink.Mismatch() }
        var whole = response
        whole.statusCode = 200
        whole.body = Data()
        for name in ["Content-Range", "Content-Type"] { whole.headers.remove(name) }
        whole.headers["Content-Length"] = "\(size)"
        return (whole, true)
    }

    /// Fetches all from the start, without ranges.
    private func fetchWhole() async throws -> Answer {
        let answer: Answer
        do {
            answer = try await send(span: 0, asking: nil)
        } catch is ReceiverFellBehind {
            return try await fetch(span: 0, isWindowed: true)
        }
        return answer
    }

    /// Fetches the rest of a span.
    private func fetch(span index: Int, isWindowed: Bool = false) async throws -> Answer {
        var isWindowed = isWindowed
        while true {
            let record = file.record
            guard record.spans.indices.contains(index), let end = record.spans[index].end else { throw DownloadSink.Mismatch() }
            let start = record.spans[index].next
            let stop = isWindowed ? min(end, start + Self.window) : end
            do {
                let answer = try await send(span: index, asking: start..<stop)
                guard answer.isTaken else {
                    if answer.value.statusCode == 416 { throw DownloadSink.Mismatch() }
                    return answer
                }
                let span = file.record.spans.indices.contains(index) ? file.record.spans[index] : nil
                if answer.value.statusCode != 206 || span?.isWhole != false { return answer }
                // Servers may send less than was asked for, but not nothing.
                guard let span, span.next > start else { throw DownloadSink.Mismatch() }
            } catch is ReceiverFellBehind {
                isWindowed = true
            }
        }
    }

    /// One exchange.
    /// - Parameter range: The bytes to ask for; nil for all.
    private func send(span index: Int, asking range: Range<Int64>?) async throws -> Answer {
        let record = file.record
        let spanCount = record.total == nil ? target.segments : 1
        let sink = makeSink(span: index, asking: range, spanCount: spanCount)
        let text = range.map { "bytes=\($0.lowerBound)-\($0.upperBound - 1)" }
        let response = try await next(asking(for: text, if: record.validator, sink))
        guard let head = sink.taken else { return (response, false) }
        // The head tells whether it was a part; the response may have been changed by a loader since.
        return (response.withStatus(of: head), true)
    }

    private func makeSink(span: Int, asking range: Range<Int64>?, spanCount: Int) -> DownloadSink {
        DownloadSink(
            file, span: span, asked: range, spanCount: spanCount, validators: request.validators, mayKnowRanges: mayKnowRanges)
    }

    private func asking(for range: String?, if validator: String?, _ sink: DownloadSink) -> HTTPRequest {
        var request = request
        request.headers["Accept-Encoding"] = "identity"
        if let range {
            request.headers["Range"] = range
            if let validator { request.headers["If-Range"] = validator }
        }
        request.sink = sink
        return request
    }
}

extension HTTPResponse {
    fileprivate func withStatus(of head: HTTPResponse) -> HTTPResponse {
        var copy = self
        copy.statusCode = head.statusCode
        return copy
    }
}
