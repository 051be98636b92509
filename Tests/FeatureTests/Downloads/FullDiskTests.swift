#if os(Linux)
import Foundation
import Glibc
import NessHTTP
import TestSupport
import Testing

/// Downloads to a disk without space. A limit on the length of files stands in for it. The limit holds for a whole process and for all that
/// it starts, so these tests run in a separate process.
@Suite(.inTurn, .inOwnProcess) struct FullDiskTests {
    @Test("a full disk is a typed error, and leaves nothing under the final name, in one segment and in several")
    func fullDisk() async throws {
        let content = patternedData(9 << 20)
        for segments in [1, 4] {
            try await withDownloads(of: FileServer(content: content)) { rig in
                try Data("before".utf8).write(to: rig.file)
                let error = try await Self.limitingFileSize { await rig.start(segments: segments).nessError() }
                #expect(error?.kind == .fileSystem)
                #expect(error?.context.reason.contains("a.bin.ness-part") == true)
                #expect(rig.saved == Data("before".utf8))
                _ = try await rig.start(segments: segments).value
                #expect(rig.saved == content && rig.folder.entries == ["a.bin"])
            }
        }
    }

    /// Limits the length of every file to 8 MiB while a closure runs.
    private static func limitingFileSize<Result>(_ body: () async throws -> Result) async throws -> Result {
        // The limit's signal would otherwise end the process.
        signal(SIGXFSZ, SIG_IGN)
        return try await withProcessLimit(RLIMIT_FSIZE, 8 << 20, body)
    }
}
#endif
