import Foundation

/// The end of a download: the file gets its final name, is kept for a later run, or is removed.
extension PartialFile {
    /// Closes the file and keeps its bytes for a later run. Bytes that no run could resume are removed.
    func close() async {
        await end { [self] in
            if record.isOfUse { sync() }
            // No run can resume bytes without a record.
            if access(recordPath, F_OK) != 0 { remove() }
        }
    }

    /// Closes the file and removes its bytes.
    func abandon() async { await end { [self] in remove() } }

    private func end(_ change: @escaping @Sendable () -> Void) async {
        state.withLock { $0.isClosed = true }
        await afterWrites { [self] in
            // A file that cannot be locked again may be another download's.
            guard hasFile, (try? openNow()) != nil else { return }
            change()
            closeFiles()
        }
    }

    /// Closes the file and that of its record. A transport that ignores the end may hold this object, and with it both files, for long.
    private func closeFiles() {
        state.withLock { state in
            state.records.closeFile()
            return state.file
        }?.closeNow()
    }

    /// True unless the file was removed when it was closed for a wait.
    private var hasFile: Bool { state.withLock { $0.file != nil || $0.closed != nil } }

    /// Syncs the complete file and gives it its final name.
    /// - Parameters:
    ///   - destination: The final URL.
    ///   - replaces: True to replace an existing file; false to choose a free, numbered name.
    ///   - expectation: The properties that the file must have; `nil` for any.
    /// - Returns: The URL of the file.
    /// - Throws: `FileError`; `TransportError` if bytes are missing; `FileMismatch`; `CancellationError`.
    func finish(as destination: URL, replaces: Bool, expecting expectation: FileExpectation? = nil) async throws -> URL {
        state.withLock { $0.isClosed = true }
        return try await withTaskCancellationHandler {
            try await afterWrites { [self] in
                let result = Result { try finishNow(destination, replaces, expectation) }
                if case .success = result { closeFiles() }
                return result
            }.get()
        } onCancel: {
            state.withLock { $0.isCancelled = true }
        }
    }

    private func finishNow(_ destination: URL, _ replaces: Bool, _ expectation: FileExpectation?) throws -> URL {
        let record = record, file = try openNow()
        let length = try file.length()
        guard record.count == length, record.total ?? length == length else {
            throw TransportError(.truncated, "received only \(record.count) of \(record.total ?? length) bytes of the file")
        }
        try syncBytes(of: file, .whole)
        try expectation?.check(file) { state.withLock { $0.isCancelled } }
        // Both may take seconds. If the download was paused or dropped meanwhile, no file must appear.
        if state.withLock({ $0.isCancelled }) { throw CancellationError() }
        guard try file.isAtItsPath(), try !file.hasOtherNames() else {
            throw FileError("the partial file was replaced while the download ran")
        }
        var place = destination
        PartialFileAttributes.reset(at: path)
        if replaces {
            try OpenFile.rename(file.path, to: place.path)
        } else {
            var number = 1
            while try !OpenFile.renameIfFree(file.path, to: place.path) {
                number += 1
                place = destination.numbered(number)
            }
        }
        OpenFile.syncFolder(place.deletingLastPathComponent().path)
        removeRecord()
        return place
    }

    private func remove() {
        unlink(path)
        removeRecord()
    }

    private func removeRecord() { _ = state.withLock { $0.records.remove() } }
}
