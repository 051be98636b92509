import Foundation
import NessLock
import TestSupport
import Testing

@testable import NessHTTP

/// Partial files whose requests wait in queues.
@Suite(.inTurn(.withoutSockets)) struct PartialFileWaitTests: PartialFileSuite {
    @Test("the file is closed while all requests of its download wait in queues, and only then")
    func closedInWaits() async throws {
        try await withPartialFile { file, place in
            let first = ObjectIdentifier(Int.self), second = ObjectIdentifier(String.self)
            // An open file is locked.
            func isOpen() throws -> Bool { try !OpenFile(place.path, O_RDWR).lock() }
            _ = try await started(file)
            try await file.during(requestOf: first) {
                #expect(try isOpen())
                try await file.during(waitOf: first) {
                    #expect(try !isOpen())
                    try await file.during(requestOf: second) {
                        try await file.open()
                        #expect(try isOpen())
                    }
                    // The only request that did not wait has ended.
                    #expect(try !isOpen())
                    await #expect(throws: CocoaError.self) {
                        try await file.during(requestOf: second) { () async throws -> Void in
                            try await file.open()
                            throw CocoaError(.coderInvalidValue)
                        }
                    }
                    #expect(try !isOpen())
                }
                try await file.open()
                #expect(try isOpen())
                try await file.during(requestOf: second) {
                    try await file.during(waitOf: first) {
                        let isStillOpen = try isOpen()
                        #expect(isStillOpen)
                    }
                }
            }
            // No request waits.
            #expect(try isOpen())
            let end = place.deletingLastPathComponent().appendingPathComponent("a")
            _ = try await file.finish(as: end, replaces: true)
            #expect(try Data(contentsOf: end) == Data("abc".utf8))
        }
    }

    @Test("a download that ends in a queue keeps the bytes that arrived before") func endsInWait() async throws {
        try await withPartialFile { file, place in
            let exchange = try await started(file, length: 10, Data("01234".utf8))
            // No note counts these bytes.
            try await exchange.write(Data("56".utf8))
            file.closeNow()
            await file.close()
            let again = try PartialFile(path: place.path, source: "s", elapsed: { .zero })
            #expect(again.record.count == 7)
            await again.close()
        }
    }

    @Test("a download that ends before its first request leaves no file, even if code of the application sends the request later")
    func endsBeforeStart() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part")
            let file = try await PartialFile.open(path: place.path, source: "s", elapsed: { .zero })
            #expect(folder.entries.isEmpty)
            await file.close()
            await #expect(throws: CancellationError.self) { try await file.open() }
            #expect(folder.entries.isEmpty)
        }
    }

    @Test("bytes that were synced before a wait count after a crash of the system") func syncedBeforeWait() async throws {
        let now = Lock(Duration.zero)
        try await withPartialFile(boot: "now", elapsed: { now.withLock { $0 } }) { file, place in
            let exchange = try await started(file, length: 100, Data(count: 10))
            file.sync()
            file.closeNow()
            try await file.open()
            now.withLock { $0 = .seconds(1) }
            try await exchange.write(Data(count: 5))
            #expect(try await found(place, boot: "now") == 15)
            #expect(try await found(place, boot: "later") == 10)
            await file.close()
        }
    }

    #if os(Linux)
    @Test("a download that waits has no open file, not even that of its record") func descriptors() async throws {
        try await withPartialFile { file, place in
            let folder = place.deletingLastPathComponent().resolvingSymlinksInPath()
            _ = try await started(file)
            #expect(DownloadDescriptorTests.openFiles(folder).count == 2)
            file.closeNow()
            #expect(DownloadDescriptorTests.openFiles(folder).isEmpty)
            await file.close()
        }
    }
    #endif
}
