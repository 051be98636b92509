import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Records of uploads, and uploads that are paused, dropped and terminated.
@Suite struct UploadRecordTests {
    private func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    @Test("another manager continues the upload of a record, which is private and goes at the end")
    func continued() async throws {
        try await withUpload { file, bytes in
            let record = file.appendingPathExtension("record")
            let model = TusModel((.patch, .loses(after: 30)))
            let resuming = ResumableUpload.tus(record: record)
            let first = model.ness { $0.retryControl = nil }.post("films").uploadRequest(forFileLocation: file, resuming: resuming)
            #expect(await first.nessError()?.kind == .connectionLost)
            let attributes = try FileManager.default.attributesOfItem(atPath: record.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let text = try String(contentsOf: record, encoding: .utf8)
            #expect(text.contains("files.test") && !text.contains("films"))
            let done = try await model.ness().post("films").uploadRequest(forFileLocation: file, resuming: resuming).value
            #expect(model.log == ["POST", "PATCH 0", "HEAD", "PATCH 30"] && model.bytes == bytes)
            #expect(done.uploadURL?.path == "/files/1" && !exists(record))
        }
    }

    @Test("the record of another file, version, request, user or protocol starts over, and observers hear of it")
    func mismatch() async throws {
        let changes: [(String, (Ness, URL, URL) throws -> UploadPromise)] = [
            (
                "another file",
                { ness, file, record in
                    var bytes = try Data(contentsOf: file)
                    bytes[bytes.count - 1] ^= 1
                    try bytes.write(to: file)
                    return ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: record))
                }
            ),
            (
                "another request",
                { $0.post("other").uploadRequest(forFileLocation: $1, resuming: .tus(record: $2)) }
            ),
            (
                "another user",
                {
                    let bearer = BearerAuthentication(token: "x", userIdentifier: "b")
                    return $0.post("films").authenticate(with: bearer).uploadRequest(forFileLocation: $1, resuming: .tus(record: $2))
                }
            ),
            (
                "another protocol",
                { $0.post("films").uploadRequest(forFileLocation: $1, resuming: .draft(record: $2)) }
            ),
        ]
        for (reason, start) in changes {
            try await withUpload { file, _ in
                let record = file.appendingPathExtension("record"), warnings = WarningRecorder()
                let model = TusModel((.patch, .answers(400)))
                let ness = model.ness { ($0.observers, $0.retryControl) = ([warnings], nil) }
                _ = await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: record)).nessError()
                _ = try? await start(ness, file, record).value
                #expect(model.state.withLock { $0.creations } == 2)
                #expect(warnings.log.entries.first?.contains(reason) == true, "\(warnings.log.entries)")
            }
        }
    }

    @Test("an identifier stands for a URL that is different each time")
    func identified() async throws {
        try await withUpload { file, bytes in
            let record = file.appendingPathExtension("record")
            let model = TusModel((.patch, .answers(400))), ness = model.ness { $0.retryControl = nil }
            for signature in ["a", "b"] {
                let upload = ness.post("films?signature=\(signature)").uploadRequest(
                    forFileLocation: file, resuming: .tus(record: record), identifiedBy: "film 1")
                _ = try? await upload.value
            }
            #expect(model.log == ["POST", "PATCH 0", "HEAD", "PATCH 0"] && model.bytes == bytes)
        }
    }

    @Test("a file that is not a record is not overwritten, and a record is used by one upload at a time")
    func exclusive() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.patch, .hangs(after: 10))), ness = model.ness()
            let wrong = ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: file))
            #expect(await wrong.nessError()?.kind == .fileSystem)
            #expect(try Data(contentsOf: file) == bytes && model.log.isEmpty)
            let record = file.appendingPathExtension("record")
            let first = ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: record))
            await model.isHanging.wait(for: 1)
            let second = ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: record))
            #expect(await second.nessError()?.kind == .fileSystem)
            first.drop()
            _ = try await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: record)).value
            #expect(model.bytes == bytes && model.log == ["POST", "PATCH 0", "HEAD", "PATCH 10"])
        }
    }

    @Test("a URL with a secret is not recorded, and observers hear of it")
    func secretURL() async throws {
        try await withUpload { file, bytes in
            let record = file.appendingPathExtension("record"), warnings = WarningRecorder()
            let model = TusModel((.patch, .answers(400)))
            model.state.withLock { $0.location = "/files/1?token=s3cret" }
            let ness = model.ness { ($0.observers, $0.retryControl) = ([warnings], nil) }
            let upload = ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: record))
            expectHidden("s3cret", in: await upload.nessError() as Any)
            #expect(!exists(record) && warnings.log.entries.count == 1)
        }
    }

    @Test("a pause ends the exchange, and a resume continues at the server's offset")
    func pause() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.patch, .hangs(after: 40))), ness = model.ness { $0.retryControl = nil }
            let upload = ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus())
            await model.isHanging.wait(for: 1)
            upload.pause()
            #expect(upload.isPaused && upload.uploadURL != nil)
            #expect(upload.resume() == .resumed)
            _ = try await upload.value
            #expect(model.log == ["POST", "PATCH 0", "HEAD", "PATCH 40"] && model.bytes == bytes)
            #expect(upload.resume() == .failToResume)
        }
    }

    @Test("without a protocol, a pause of an idempotent upload sends the file again, and one of a POST has no effect")
    func plain() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.put, .hangs(after: 40)), (.put, .answers(201))), ness = model.ness { $0.retryControl = nil }
            let upload = ness.put("films/1").uploadRequest(forFileLocation: file)
            await model.isHanging.wait(for: 1)
            upload.pause()
            #expect(upload.isPaused)
            upload.resume()
            let done = try await upload.value
            #expect(done.message.statusCode == 201 && done.uploadURL == nil && model.log == ["PUT", "PUT"])
            model.add(.post, .hangs(after: 40))
            let post = ness.post("films").uploadRequest(forFileLocation: file)
            await model.isHanging.wait(for: 2)
            post.pause()
            #expect(!post.isPaused)
            #expect(await post.terminate().nessError()?.kind == .invalidRequest)
        }
    }

    @Test("a drop during a pause ends the rest of the path, even in a loader's own task")
    func dropDuringPause() async throws {
        try await withUpload { file, _ in
            let model = TusModel((.put, .hangs(after: 40))), hasReturned = TestGate()
            let deaf = ClosureLoader.loader { request, next in
                try await Task {
                    defer { hasReturned.open() }
                    return try await next(request)
                }.value
            }
            let hasLeft = TestGate()
            let leaving = ClosureLoader.loader { request, next in
                defer { hasLeft.open() }
                return try await next(request)
            }
            let request = model.ness().put("films/1").add(loaders: [deaf], at: .call).add(loaders: [leaving])
            let upload = request.uploadRequest(forFileLocation: file)
            await model.isHanging.wait(for: 1)
            upload.pause()
            // The path is about to wait for the resume.
            await hasLeft.wait()
            upload.drop()
            await hasReturned.wait()
        }
    }

    @Test("a drop keeps the upload on the server; terminate() removes it and its record")
    func terminate() async throws {
        try await withUpload { file, _ in
            let record = file.appendingPathExtension("record")
            let model = TusModel((.patch, .hangs(after: 40)), (.patch, .hangs(after: 40))), ness = model.ness()
            let resuming = ResumableUpload.tus(record: record)
            let first = ness.post("films").uploadRequest(forFileLocation: file, resuming: resuming)
            await model.isHanging.wait(for: 1)
            first.drop()
            #expect(exists(record) && model.state.withLock { $0.length } == 100)
            let second = ness.post("films").uploadRequest(forFileLocation: file, resuming: resuming)
            await model.isHanging.wait(for: 2)
            try await second.terminate().value
            #expect(await second.nessError()?.kind == .dropped)
            #expect(!exists(record) && model.log.last == "DELETE" && model.state.withLock { $0.length } == nil)
            // Nothing is left to remove.
            try await second.terminate().value
        }
    }

    @Test("an upload whose end was sent in an earlier run may be complete if the server no longer knows it, once")
    func lostEndOfEarlierRun() async throws {
        try await withUpload { file, bytes in
            let record = file.appendingPathExtension("record")
            let model = TusModel((.patch, .losesResponse), (.head, .answers(404))), ness = model.ness { $0.retryControl = nil }
            func upload() -> UploadPromise { ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(record: record)) }
            #expect(await upload().nessError()?.kind == .connectionLost)
            #expect(await upload().nessError()?.kind == .connectionLost)
            #expect(model.log == ["POST", "PATCH 0", "HEAD"] && !exists(record))
            _ = try await upload().value
            #expect(model.bytes == bytes)
        }
    }

    @Test("a later run terminates the upload of a record before its first step; a device or a file of the user stays")
    func terminateRecorded() async throws {
        try await withUpload { file, _ in
            let record = file.appendingPathExtension("record")
            let model = TusModel((.patch, .answers(400))), ness = model.ness { $0.retryControl = nil }
            let request = ness.post("films")
            #expect(await request.uploadRequest(forFileLocation: file, resuming: .tus(record: record)).nessError()?.kind == .validation)
            let gate = TestGate()
            let waiting = ness.post("films").add(loaders: [.modifyRequest { if $0.method == .post { await gate.wait() } }], at: .call)
            let second = waiting.uploadRequest(forFileLocation: file, resuming: .tus(record: record))
            try await second.terminate().value
            gate.open()
            #expect(model.log.last == "DELETE" && !exists(record))
            let link = file.appendingPathExtension("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            for path in [link.path, "/dev/null"] {
                let wrong = request.uploadRequest(forFileLocation: file, resuming: .tus(record: URL(fileURLWithPath: path)))
                #expect(await wrong.nessError()?.kind == .fileSystem)
            }
            #expect(exists(link) && FileManager.default.fileExists(atPath: "/dev/null"))
        }
    }

    @Test("terminate() leaves the record of another file, and removes the upload of a file that is gone")
    func terminateOthers() async throws {
        try await withUpload { file, _ in
            let record = file.appendingPathExtension("record"), other = file.appendingPathExtension("other")
            try Data("other".utf8).write(to: other)
            let model = TusModel((.patch, .answers(400))), ness = model.ness { $0.retryControl = nil }
            let request = ness.post("films"), resuming = ResumableUpload.tus(record: record)
            #expect(await request.uploadRequest(forFileLocation: file, resuming: resuming).nessError()?.kind == .validation)
            let gate = TestGate()
            let waiting = request.add(loaders: [.modifyRequest { if $0.method == .post { await gate.wait() } }], at: .call)
            try await waiting.uploadRequest(forFileLocation: other, resuming: resuming).terminate().value
            #expect(model.log == ["POST", "PATCH 0"] && exists(record))
            try FileManager.default.removeItem(at: file)
            try await waiting.uploadRequest(forFileLocation: file, resuming: resuming).terminate().value
            #expect(model.log == ["POST", "PATCH 0", "DELETE"] && !exists(record))
            gate.open()
        }
    }

    @Test("the removal of an upload on another origin carries no secret")
    func terminateForeign() async throws {
        try await withUpload { file, _ in
            let model = TusModel((.patch, .hangs(after: 40)))
            model.state.withLock { $0.location = "https://storage.test/1" }
            let ness = model.ness {
                $0.baseURL = nil
                $0.defaultHeaders = ["X-Api-Key": "secret"]
            }
            let request = ness.post("https://files.test/films").authenticate(with: BearerAuthentication(token: "token"))
            let upload = request.uploadRequest(forFileLocation: file, resuming: .tus())
            await model.isHanging.wait(for: 1)
            try await upload.terminate().value
            let removal = try #require(model.requests.last)
            #expect(removal.method == .delete && removal.url.host == "storage.test")
            #expect(!removal.headers.contains("X-Api-Key") && !removal.headers.contains("Authorization"))
        }
    }

    @Test("a creation whose content was sent cannot be resumed after a pause, because the server may have it")
    func pausedCreation() async throws {
        try await withUpload { file, _ in
            let model = TusModel((.post, .hangs(after: 100))), ness = model.ness()
            let upload = ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus(createsWithContent: true))
            await model.isHanging.wait(for: 1)
            upload.pause()
            upload.resume()
            #expect(await upload.nessError()?.kind == .connectionLost)
            #expect(model.log == ["POST"])
        }
    }
}
