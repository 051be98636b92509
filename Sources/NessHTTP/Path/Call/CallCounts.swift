/// The numbers of a call: its attempts, and the bytes of the current one.
struct CallCounts: Sendable {
    private(set) var attempts = 0
    private var sent: Int64 = 0
    private var toSend: Int64?
    private var received: Int64 = 0
    private var toReceive: Int64?
    /// True once the head of the current response has arrived.
    private var hasHead = false
    /// The part of a resumable upload that is being sent; `nil` for any other request.
    var part: UploadPart?
    /// Reports progress to listeners; `nil` until the first listener is added.
    var reporter: ProgressReporter?

    /// The request ends.
    mutating func end(with response: HTTPResponse?) {
        guard let response else { return }
        // The cache may respond after an attempt that broke off. The bytes of that attempt are not part of the response.
        let isFromCache = response.file == nil && (response.source == .cache || response.source == .stale)
        if isFromCache { (received, toReceive) = (0, nil) }
        // A body without a length has ended, and its length is known now.
        hasHead = true
        toSend = toSend ?? sent
        toReceive = toReceive ?? received
        // A paused download may have missed the last bytes of a shared flight.
        if response.file != nil, let toReceive { received = toReceive }
    }

    /// A part of a resumable upload starts.
    mutating func begin(_ part: UploadPart) {
        self.part = part
        toSend = part.length
        if !part.bytes.isEmpty { sent = part.bytes.lowerBound }
    }

    /// The server has the whole file of a resumable upload.
    mutating func complete(_ length: Int64) { (sent, toSend) = (length, length) }

    /// Counts an event of an exchange.
    /// - Parameter attempt: The number of the call's attempt that the exchange belongs to.
    /// - Returns: True if the progress has changed.
    mutating func count(_ event: ExchangeEvent, attempt: Int, of kind: RequestKind) -> Bool {
        switch event {
        case .began:
            attempts = attempt
            (sent, toSend) = part.map { ($0.bytes.isEmpty ? sent : $0.bytes.lowerBound, $0.length) } ?? (0, nil)
            // A download resumes its partial file, so the received bytes also count for the next attempt.
            if kind != .download { (received, toReceive, hasHead) = (0, nil, false) }
            return false
        // The progress of a download is that of its file.
        case .sent where kind == .download: return false
        case .sent(let bytes, let total):
            guard let part else {
                (sent, toSend) = (bytes, total)
                break
            }
            if part.bytes.isEmpty { return false }
            sent = part.bytes.lowerBound + min(bytes, Int64(part.bytes.count))
        case .received(let bytes, let total): (received, toReceive, hasHead) = (bytes, total, true)
        case .waits, .waited, .waitsForNetwork, .connection, .interim, .head, .ended: return false
        }
        return true
    }

    /// The progress of the whole attempt.
    /// - Parameter expectedSize: The size of the file that the caller expects; `nil` if it expects none.
    func progress(of kind: RequestKind, expecting expectedSize: Int64?) -> TransferProgress {
        if kind == .upload { return uploadProgress }
        // Before the head has arrived, only the length of the request's body and the expected size of a file are known. Without either
        // there is no total.
        let bodyLength = toSend ?? 0, responseLength = hasHead ? toReceive : expectedSize
        let total = responseLength.map { $0.saturatingAdd(bodyLength) } ?? (hasHead || bodyLength == 0 ? nil : bodyLength)
        // If the length of the request's body is unknown, so is the total.
        let isKnown = toSend != nil || sent == 0
        return TransferProgress(completedBytes: sent.saturatingAdd(received), totalBytes: isKnown ? total : nil)
    }

    /// The progress of the request's body.
    var uploadProgress: TransferProgress { TransferProgress(completedBytes: sent, totalBytes: toSend) }

    /// The progress of the response's body.
    var downloadProgress: TransferProgress { TransferProgress(completedBytes: received, totalBytes: toReceive) }
}
