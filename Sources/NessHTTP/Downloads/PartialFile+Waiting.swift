import Foundation

/// The file is open only while at least one request of the download does not wait in a queue.
extension PartialFile {
    /// Runs one request of the download. While all its requests wait in queues, the file is closed.
    /// - Parameter sink: Identifies the request.
    func during<Value: Sendable>(requestOf sink: ObjectIdentifier, _ request: () async throws -> Value) async throws -> Value {
        #if os(macOS)
        // An app without a visible window would be slowed down (App Nap), or ended.
        let activity = ProcessInfo.processInfo.beginActivity(options: .userInitiatedAllowingIdleSystemSleep, reason: "A file is downloaded")
        defer { ProcessInfo.processInfo.endActivity(activity) }
        #endif
        state.withLock { $0.requests[sink] = false }
        do {
            let value = try await request()
            await changeRequests { $0.requests[sink] = nil }
            return value
        } catch {
            await changeRequests { $0.requests[sink] = nil }
            throw error
        }
    }

    /// Runs the wait of one request in a queue. Does not count a request that has ended: the download does not wait for code of the
    /// application, which may still send it.
    func during(waitOf sink: ObjectIdentifier, _ wait: () async throws -> Void) async rethrows {
        await changeRequests { $0.requests[sink]? = true }
        defer { state.withLock { $0.requests[sink]? = false } }
        try await wait()
    }

    private func changeRequests(_ change: (inout State) -> Void) async {
        let isUnused = state.withLock { state in
            change(&state)
            return state.isUnused && state.file != nil
        }
        if isUnused { await afterWrites { [self] in closeNow() } }
    }

    /// Opens the file, unless it is open, for a request that has left the queues.
    /// - Throws: `FileError` if the file cannot be opened, or is not as it was; `CancellationError` after the end.
    func open() async throws {
        let isOpen = state.withLock { $0.file != nil && !$0.isClosed }
        if isOpen { return }
        try await afterWrites { [self] in Result { try openUnlessClosed() } }.get()
    }

    /// Opens the file on `maintenance`. The end of the download runs there as well, so no file is opened after it.
    private func openUnlessClosed() throws {
        if state.withLock({ $0.isClosed }) { throw CancellationError() }
        _ = try openNow()
    }

    /// Closes the file if all requests wait in queues. `openNow()` opens it again.
    func closeNow() {
        // The file is closed when it is released, outside the lock.
        _ = state.withLock { state -> OpenFile? in
            // A request may have left its queue since the caller looked, and found the file open.
            guard !state.isActive, !state.isClosed, let file = state.file,
                let length = try? file.length(), let key = try? file.key()
            else { return nil }
            state.records.closeFile()
            // An empty file is removed, because a request may wait for hours, and its process may end meanwhile.
            if length == 0 { unlink(path) } else { state.closed = (length, key) }
            return state.file.take()
        }
    }

    /// Returns the open file. Opens it if it was closed for a wait. Runs on `maintenance`.
    /// - Throws: `FileError` if the file cannot be opened, or is not as it was.
    func openNow() throws -> OpenFile {
        let (file, closed) = state.withLock { ($0.file, $0.closed) }
        if let file { return file }
        let opened = try Self.openLocked(path)
        guard try closed.map({ try $0.length == opened.length() && $0.key == opened.key() }) ?? (opened.length() == 0) else {
            throw FileError("another download has used this destination")
        }
        return state.withLock { state in
            (state.file, state.closed) = (opened, nil)
            return opened
        }
    }
}
