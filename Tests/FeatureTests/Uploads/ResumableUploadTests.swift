import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The steps of a resumable upload, against a model of the server.
@Suite struct ResumableUploadTests {
    @Test("an upload is created, sent, and ends with its URL; the metadata is encoded by tus")
    func whole() async throws {
        try await withUpload { file, bytes in
            let model = TusModel()
            let request = model.ness().post("films").set(headers: ["X-Tenant": "a", "Content-Type": "video/mp4"])
            let upload = request.uploadRequest(forFileLocation: file, resuming: .tus(metadata: ["filename": "ä.mov", "empty": ""]))
            let done = try await upload.value
            #expect(model.bytes == bytes && model.log == ["POST", "PATCH 0"])
            #expect(done.uploadURL?.absoluteString == "https://files.test/files/1" && done.message.statusCode == 204)
            let (creation, part) = (model.requests[0], model.requests[1])
            #expect(creation.headers["Upload-Metadata"] == "empty,filename w6QubW92")
            #expect(creation.headers["Upload-Length"] == "100" && creation.body?.length == 0)
            #expect(part.sentHeaders["Content-Type"] == "application/offset+octet-stream")
            #expect(part.headers["X-Tenant"] == "a" && part.headers["Tus-Resumable"] == "1.0.0")
            #expect(upload.progress == TransferProgress(completedBytes: 100, totalBytes: 100))
        }
    }

    @Test("parts have at most their size, and a checksum if it is wanted", arguments: [UploadChecksum.sha256, .sha1, .md5])
    func parts(checksum: UploadChecksum) async throws {
        try await withUpload { file, bytes in
            let model = TusModel()
            let resuming = ResumableUpload.tus(partSize: 40, checksum: checksum, createsWithContent: true)
            _ = try await model.ness().post("films").uploadRequest(forFileLocation: file, resuming: resuming).value
            #expect(model.bytes == bytes && model.log == ["POST", "PATCH 40", "PATCH 80"])
            let last = bytes.suffix(20)
            let digest =
                switch checksum {
                case .sha256: SHA256Hash.digest(of: last)
                case .sha1: SHA1Hash.digest(of: last)
                case .md5: Data(MD5Hash.digest(of: last))
                }
            #expect(model.requests[2].headers["Upload-Checksum"] == "\(checksum.rawValue) \(digest.base64EncodedString())")
        }
    }

    @Test("an empty file is complete when it is created")
    func empty() async throws {
        try await withUpload(0) { file, _ in
            let model = TusModel()
            let done = try await model.ness().post("f").uploadRequest(forFileLocation: file, resuming: .tus()).value
            #expect(done.message.statusCode == 201)
            #expect(model.log == ["POST"])
        }
    }

    @Test("a lost connection continues from the server's offset, and attempts that moved it do not count")
    func lost() async throws {
        try await withUpload { file, bytes in
            let model = TusModel(
                (.patch, .loses(after: 30)), (.patch, .loses(after: 30)), (.patch, .loses(after: 30)), (.patch, .losesResponse))
            let upload = model.ness().post("films").uploadRequest(forFileLocation: file, resuming: .tus())
            let done = try await upload.value
            #expect(model.bytes == bytes && done.message.request.method == .head)
            #expect(model.log == ["POST", "PATCH 0", "HEAD", "PATCH 30", "HEAD", "PATCH 60", "HEAD", "PATCH 90", "HEAD"])
        }
    }

    @Test("attempts that do not move the offset use up the retry policy")
    func stuck() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.patch, .loses(after: 30)), (.patch, .loses(after: 0)), (.patch, .loses(after: 0)))
            let ness = model.ness(), resuming = ResumableUpload.tus()
            let error = await ness.post("films").uploadRequest(forFileLocation: file, resuming: resuming).nessError()
            #expect(error?.kind == .connectionLost)
            #expect(model.log == ["POST", "PATCH 0", "HEAD", "PATCH 30", "HEAD", "PATCH 30"] && model.bytes == bytes.prefix(30))
        }
    }

    @Test("a retryable status is retried after its Retry-After, and continues at the server's offset")
    func busy() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.post, .answers(503)), (.patch, .answers(503, ["Retry-After": "7"])))
            let recorder = EventRecorder()
            let ness = model.ness { $0.observers = [recorder] }
            _ = try await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).value
            #expect(model.log == ["POST", "POST", "PATCH 0", "HEAD", "PATCH 0"] && model.bytes == bytes)
            #expect(recorder.events.filter { $0.hasPrefix("retry") } == ["retry 0.0 validation", "retry 7.0 validation"])
        }
    }

    @Test("a final status is an error with the response, and is not retried", arguments: [413, 415, 400])
    func final(status: Int) async throws {
        try await withUpload { file, _ in
            let model = TusModel((.patch, .answers(status)))
            let ness = model.ness { $0.retryControl = BackoffRetryControl(maxRetryCount: 3) }
            let error = await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == status && model.log == ["POST", "PATCH 0"])
        }
    }

    @Test("409 asks for the offset, once at each offset")
    func conflict() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.patch, .answers(409)))
            let ness = model.ness { $0.retryControl = nil }
            _ = try await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).value
            #expect(model.log == ["POST", "PATCH 0", "HEAD", "PATCH 0"] && model.bytes == bytes)
            for _ in 0..<2 { model.add(.patch, .answers(409)) }
            let error = await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == 409)
        }
    }

    @Test("an upload that the server no longer knows starts over, once", arguments: [404, 410])
    func gone(status: Int) async throws {
        try await withUpload { file, bytes in
            let warnings = WarningRecorder()
            let model = TusModel((.patch, .answers(status)))
            let ness = model.ness { ($0.retryControl, $0.observers) = (nil, [warnings]) }
            _ = try await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).value
            #expect(model.log == ["POST", "PATCH 0", "POST", "PATCH 0"] && model.bytes == bytes)
            #expect(warnings.log.entries == ["the upload starts over: the server no longer knows it (\(status))"])
            for _ in 0..<2 { model.add(.patch, .answers(status)) }
            let error = await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == status)
        }
    }

    @Test(
        "an offset that cannot be right is a typed error",
        arguments: [
            (HTTPMethod.patch, "101", "claims"), (.patch, "-1", "claims"), (.patch, "", "no offset"), (.patch, "x", "no offset"),
            (.patch, "0", "no byte"), (.post, "3", "claims"), (.patch, "9999999999999999999999", "no offset"),
        ])
    func lies(method: HTTPMethod, offset: String, words: String) async throws {
        try await withUpload { file, _ in
            let model = TusModel((method, .changes(["Upload-Offset": offset])))
            let ness = model.ness { $0.retryControl = nil }
            let error = await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).nessError()
            #expect(error?.kind == .malformedResponse && "\(error.map { "\($0)" } ?? "")".contains(words))
        }
    }

    @Test("an offset that goes back is a typed error, and so is another length")
    func back() async throws {
        for fields in [["Upload-Offset": "10"], ["Upload-Length": "99"]] as [HTTPHeaders] {
            try await withUpload { file, _ in
                let model = TusModel((.patch, .answers(503)), (.head, .changes(fields)))
                let resuming = ResumableUpload.tus(partSize: 50, createsWithContent: true)
                let error = await model.ness().post("films").uploadRequest(forFileLocation: file, resuming: resuming).nessError()
                #expect(error?.kind == .malformedResponse && model.log == ["POST", "PATCH 50", "HEAD"])
            }
        }
    }

    @Test("a creation without a Location is a typed error, and invalid metadata is rejected before anything is sent")
    func creation() async throws {
        try await withUpload { file, _ in
            let model = TusModel((.post, .changes(["Location": ""])))
            let ness = model.ness { $0.retryControl = nil }
            #expect(
                await ness.post("f").uploadRequest(forFileLocation: file, resuming: .tus()).nessError()?.kind == .malformedResponse)
            let bad = ResumableUpload.tus(metadata: ["a b": "x"])
            #expect(await ness.post("f").uploadRequest(forFileLocation: file, resuming: bad).nessError()?.kind == .invalidRequest)
            let missing = file.appendingPathExtension("x")
            #expect(await ness.post("f").uploadRequest(forFileLocation: missing, resuming: .tus()).nessError()?.kind == .invalidRequest)
            #expect(model.log == ["POST"])
        }
    }

    @Test("a creation that carried the whole file, and whose response is lost, is not sent again unless the caller allows it")
    func lostCreation() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.post, .losesResponse), (.post, .losesResponse))
            let request = model.ness().post("films"), resuming = ResumableUpload.tus(createsWithContent: true)
            let error = await request.uploadRequest(forFileLocation: file, resuming: resuming).nessError()
            #expect(error?.kind == .connectionLost && error?.mayHaveReachedServer == true && model.log == ["POST"])
            let repeatable = request.set(isIdempotent: true).uploadRequest(forFileLocation: file, resuming: resuming)
            #expect(try await repeatable.value.message.statusCode == 201 && model.log == ["POST", "POST", "POST"])
            // Without the content, a creation that is lost leaves an empty upload, which does no harm.
            model.add(.post, .losesResponse)
            _ = try await request.uploadRequest(forFileLocation: file, resuming: .tus()).value
            #expect(model.bytes == bytes)
        }
    }

    @Test("a gateway's error after the whole file was sent may hide a success, so it is not sent again", arguments: [408, 502, 504])
    func gatewayError(status: Int) async throws {
        try await withUpload { file, _ in
            let model = TusModel((.post, .answers(status)))
            let resuming = ResumableUpload.tus(createsWithContent: true)
            let error = await model.ness().post("films").uploadRequest(forFileLocation: file, resuming: resuming).nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == status && model.log == ["POST"])
            // The last part.
            let last = TusModel((.patch, .answers(status)), (.head, .answers(404)))
            let end = await last.ness().post("films").uploadRequest(forFileLocation: file, resuming: .tus()).nessError()
            #expect(end?.kind == .connectionLost && last.log == ["POST", "PATCH 0", "HEAD"])
        }
    }

    @Test("409 for a creation is the outcome, and 423 is retried")
    func statuses() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.post, .answers(409)))
            let error = await model.ness { $0.retryControl = nil }.post("films")
                .uploadRequest(forFileLocation: file, resuming: .tus()).nessError()
            #expect(error?.response?.statusCode == 409 && model.log == ["POST"])
            model.add(.patch, .answers(423))
            let ness = model.ness { $0.retryControl = BackoffRetryControl(maxRetryCount: 1) }
            _ = try await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).value
            #expect(model.bytes == bytes)
        }
    }

    @Test("a protocol that cannot locate starts over once, and one without an end is complete with its last byte")
    func minimal() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.patch, .loses(after: 30)), (.patch, .loses(after: 30)))
            let ness = model.ness { $0.retryControl = CounterRetryControl(maxRetryCount: 5) }
            let upload = ness.post("films").uploadRequest(forFileLocation: file, resuming: ResumableUpload(Minimal(), partSize: 60))
            #expect(await upload.nessError()?.kind == .invalidRequest)
            #expect(model.log == ["POST", "PATCH 0", "POST", "PATCH 0"])
            let whole = ness.post("films").uploadRequest(forFileLocation: file, resuming: ResumableUpload(Minimal(), partSize: 60))
            _ = try await whole.value
            #expect(model.bytes == bytes)
        }
    }

    /// tus without a way to continue.
    private struct Minimal: UploadProtocol {
        let name = "minimal"

        func message(for step: UploadStep, of upload: RunningUpload) -> UploadMessage? {
            switch step {
            case .create: UploadMessage(.post, upload.request.url, ["Upload-Length": "\(upload.length)"])
            case .send: upload.url.map { UploadMessage(.patch, $0, ["Upload-Offset": "\(upload.offset)"], bytes: upload.nextPart) }
            case .locate, .finish, .terminate: nil
            }
        }

        func read(_ response: HTTPResponse, to step: UploadStep, of upload: inout RunningUpload) -> UploadVerdict {
            let verdict = UploadVerdict(response)
            guard verdict == .accepted else { return verdict }
            if step == .create { upload.url = response.location }
            upload.offset = step == .send ? upload.nextPart.upperBound : 0
            return .accepted
        }
    }

    @Test("a part size that is not positive is rejected before anything is sent")
    func partSize() async throws {
        try await withUpload { file, _ in
            let model = TusModel()
            let upload = model.ness().post("films").uploadRequest(forFileLocation: file, resuming: .tus(partSize: 0))
            #expect(await upload.nessError()?.kind == .invalidRequest && model.log.isEmpty)
        }
    }

    @Test("an upload that is gone after its last response was lost may be complete, so it does not start over")
    func lostEnd() async throws {
        try await withUpload { file, _ in
            let model = TusModel((.patch, .losesResponse), (.head, .answers(404)))
            let error = await model.ness().post("films").uploadRequest(forFileLocation: file, resuming: .tus()).nessError()
            #expect(error?.kind == .connectionLost && error?.response?.statusCode == 404 && model.log == ["POST", "PATCH 0", "HEAD"])
        }
    }

    @Test("a 401 in the middle renews the credential, each time that the upload has moved")
    func unauthorized() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.patch, .answers(401)), (.patch, .loses(after: 50)), (.patch, .answers(401)))
            let renewals = Log<Int>()
            let ness = model.ness {
                $0.authentication = refreshing {
                    renewals.add(1)
                    return "new \(renewals.entries.count)"
                }
            }
            _ = try await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).value
            #expect(model.bytes == bytes && renewals.entries.count == 2)
            #expect(model.log == ["POST", "PATCH 0", "PATCH 0", "HEAD", "PATCH 50", "PATCH 50"])
            #expect(model.requests.last?.headers["Authorization"] == "new 2")
        }
    }

    @Test("an upload's URL on another origin gets no secret, unless the caller trusts it", arguments: [false, true])
    func otherOrigin(isTrusted: Bool) async throws {
        try await withUpload { file, bytes in
            let model = TusModel()
            model.state.withLock { $0.location = "https://storage.test/1?part=1" }
            let ness = model.ness { $0.defaultHeaders = ["X-Api-Key": "secret"] }
            let request = ness.post("films").authenticate(with: BearerAuthentication(token: "token")).set(headers: ["X-Open": "1"])
            let done = try await request.uploadRequest(forFileLocation: file, resuming: .tus(trustsOtherOrigins: isTrusted)).value
            #expect(model.bytes == bytes && done.uploadURL?.host == "storage.test")
            let (creation, part) = (model.requests[0], model.requests[1])
            #expect(creation.headers["Authorization"] == "Bearer token" && creation.headers["X-Api-Key"] == "secret")
            #expect(part.headers.contains("Authorization") == isTrusted && part.headers.contains("X-Api-Key") == isTrusted)
            #expect(part.headers["X-Open"] == "1")
        }
    }

    @Test("an upload's URL outside the base URL gets no secret default field of the manager, and no credential that the creation lacked")
    func outsideBaseURL() async throws {
        try await withUpload { file, bytes in
            let model = TusModel()
            let ness = model.ness {
                $0.baseURL = URL(string: "https://files.test/v1/")
                $0.defaultHeaders = ["X-Api-Key": "secret"]
                $0.authentication = BearerAuthentication(token: "token")
            }
            _ = try await ness.post("films").uploadRequest(forFileLocation: file, resuming: .tus()).value
            let (creation, part) = (model.requests[0], model.requests[1])
            #expect(creation.headers.contains("X-Api-Key") && creation.headers.contains("Authorization"))
            #expect(!part.headers.contains("X-Api-Key") && !part.headers.contains("Authorization"))
            model.state.withLock { $0.location = "https://storage.test/1" }
            let elsewhere = ness.post("https://other.test/films")
            _ = try await elsewhere.uploadRequest(forFileLocation: file, resuming: .tus(trustsOtherOrigins: true)).value
            #expect(model.requests.suffix(2).allSatisfy { !$0.headers.contains("Authorization") })
        }
    }

    @Test("an upload's URL without TLS is rejected after a creation over TLS")
    func insecure() async throws {
        try await withUpload { file, _ in
            let model = TusModel()
            model.state.withLock { $0.location = "http://files.test/1" }
            let request = model.ness().post("films")
            #expect(await request.uploadRequest(forFileLocation: file, resuming: .tus()).nessError()?.kind == .redirect)
            #expect(model.log == ["POST"])
        }
    }

    @Test("a file that changes during the upload fails it")
    func changed() async throws {
        try await withUpload { file, bytes in
            let model = TusModel((.patch, .after { try? Data("changed".utf8).write(to: file) }))
            let record = file.appendingPathExtension("record")
            let error = await model.ness().post("f").uploadRequest(forFileLocation: file, resuming: .tus(record: record)).nessError()
            #expect(error?.kind == .invalidRequest && !FileManager.default.fileExists(atPath: record.path))
        }
    }
}

/// Records the warnings of requests.
final class WarningRecorder: RequestObserver {
    let log = Log<String>()

    func requestDidWarn(_ warning: String, about request: HTTPRequest) { log.add(warning) }
}
