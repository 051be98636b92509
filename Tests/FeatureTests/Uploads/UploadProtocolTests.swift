import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The two protocols that the guide *Resumable uploads* shows, with its code.
@Suite struct UploadProtocolTests {
    /// The state of a service: what it has, and the parts whose response is lost.
    private struct Service: Sendable {
        var bytes = Data()
        var parts: [String: Data] = [:]
        var lost = 1
    }

    private func rig() -> Rig { Rig { $0.retryControl = CounterRetryControl(maxRetryCount: 1) } }

    @Test("Google's 308: a part that is lost midway continues there")
    func google() async throws {
        try await withUpload { file, bytes in
            let rig = rig(), service = Lock(Service()), ranges = Log<String>()
            rig.mock.on(.post, "/films") { request in
                #expect(request.headers["X-Upload-Content-Length"] == "100")
                return .status(200, headers: ["Location": "/sessions/1"])
            }
            rig.mock.on(.put, "/sessions/1") { request in
                let range = request.headers["Content-Range"] ?? ""
                ranges.add(range)
                return service.withLock { service in
                    if range.hasSuffix("/100"), request.body.isEmpty == false, service.lost > 0 {
                        service.lost -= 1
                        service.bytes += request.body.prefix(20)
                        return .failure(TransportError(.connectionLost, "lost"))
                    }
                    service.bytes += request.body
                    if service.bytes.count == 100 { return .status(200) }
                    let count = service.bytes.count
                    return .status(308, headers: count == 0 ? [:] : ["Range": "bytes=0-\(count - 1)"])
                }
            }
            let resuming = ResumableUpload(GoogleUpload(), partSize: 60)
            let done = try await rig.ness.post("films").uploadRequest(forFileLocation: file, resuming: resuming).value
            #expect(done.message.statusCode == 200 && service.withLock { $0.bytes } == bytes)
            #expect(ranges.entries == ["bytes 0-59/100", "bytes */100", "bytes 20-79/100", "bytes 80-99/100"])
        }
    }

    @Test("an empty file is complete after Google has confirmed it")
    func emptyGoogle() async throws {
        try await withUpload(0) { file, _ in
            let rig = rig()
            rig.mock.on(.post, "/films") { _ in .status(200, headers: ["Location": "/sessions/1"]) }
            rig.mock.on(.put, "/sessions/1") { request in
                #expect(request.headers["Content-Range"] == "bytes */0")
                return .status(200)
            }
            let upload = rig.ness.post("films").uploadRequest(forFileLocation: file, resuming: ResumableUpload(GoogleUpload()))
            _ = try await upload.value
            #expect(rig.mock.requests.map(\.method) == [.post, .put])
        }
    }

    @Test("S3's multipart upload: a part whose response is lost is found in the list, and all parts are completed")
    func s3() async throws {
        try await withUpload { file, bytes in
            let rig = rig(), service = Lock(Service()), completions = Log<String>()
            rig.mock.on(.post, "/films/1.mov") { request in
                guard request.queryItems.contains(where: { $0.name == "uploadId" }) else {
                    #expect(request.queryItems.contains { $0.name == "uploads" })
                    return .text("<UploadId>7</UploadId>")
                }
                completions.add(request.bodyText)
                return .text("<CompleteMultipartUploadResult/>")
            }
            rig.mock.on(.put, "/films/1.mov") { request in
                let number = request.queryItems.first { $0.name == "partNumber" }?.value ?? ""
                return service.withLock { service in
                    service.parts[number] = request.body
                    guard number == "2", service.lost > 0 else { return .status(200, headers: ["ETag": "tag\(number)"]) }
                    service.lost -= 1
                    return .failure(TransportError(.connectionLost, "lost"))
                }
            }
            rig.mock.on(.get, "/films/1.mov") { _ in
                let parts = service.withLock { $0.parts }.sorted { $0.key < $1.key }
                return .text(
                    parts.map {
                        "<Part><PartNumber>\($0.key)</PartNumber><ETag>tag\($0.key)</ETag><Size>\($0.value.count)</Size></Part>"
                    }.joined())
            }
            let resuming = ResumableUpload(S3Upload(), partSize: 30)
            _ = try await rig.ness.post("films/1.mov").uploadRequest(forFileLocation: file, resuming: resuming).value
            let parts = service.withLock { $0.parts }
            #expect(["1", "2", "3", "4"].reduce(Data()) { $0 + (parts[$1] ?? Data()) } == bytes)
            let completion = (1...4).map { "<Part><PartNumber>\($0)</PartNumber><ETag>tag\($0)</ETag></Part>" }.joined()
            #expect(completions.entries == ["<CompleteMultipartUpload>\(completion)</CompleteMultipartUpload>"])
        }
    }
}

extension String {
    /// Returns the contents of all elements of a name.
    fileprivate func values(of name: String) -> [String] {
        components(separatedBy: "<\(name)>").dropFirst().compactMap { $0.components(separatedBy: "</\(name)>").first }
    }
}

private struct GoogleUpload: UploadProtocol {
    let name = "google-resumable"

    func message(
        for step: UploadStep, of upload: RunningUpload
    ) -> UploadMessage? {
        let length = upload.length
        guard step != .create else {
            return UploadMessage(
                .post, upload.request.url,
                ["X-Upload-Content-Length": "\(length)"])
        }
        guard let url = upload.url else { return nil }
        switch step {
        case .locate, .finish:
            return UploadMessage(
                .put, url, ["Content-Range": "bytes */\(length)"])
        case .send:
            let part = upload.nextPart
            let last = part.upperBound - 1
            let range = "bytes \(part.lowerBound)-\(last)/\(length)"
            return UploadMessage(
                .put, url, ["Content-Range": range], bytes: part)
        case .terminate: return UploadMessage(.delete, url)
        case .create: return nil
        }
    }

    func read(
        _ response: HTTPResponse, to step: UploadStep,
        of upload: inout RunningUpload
    ) -> UploadVerdict {
        if step == .create { upload.url = response.location }
        if response.statusCode == 308 {
            // "bytes=0-41", or no field if it has no byte.
            let last = response.headers["Range"]?
                .split(separator: "-").last.flatMap { Int64($0) }
            upload.offset = last.map { $0 &+ 1 } ?? 0
            return .accepted
        }
        let verdict = UploadVerdict(response)
        if step == .terminate, response.statusCode == 499 { return .accepted }
        if step == .create || verdict != .accepted { return verdict }
        (upload.offset, upload.isComplete) = (upload.length, true)
        return .accepted
    }
}

private struct S3Upload: UploadProtocol {
    let name = "s3-multipart"

    func message(
        for step: UploadStep, of upload: RunningUpload
    ) -> UploadMessage? {
        let object = upload.request.url
        guard let url = upload.url else {
            return UploadMessage(
                .post,
                object.appending(queryItems: [
                    URLQueryItem(name: "uploads", value: nil)
                ]))
        }
        switch step {
        case .create: return nil
        case .locate: return UploadMessage(.get, url)
        case .send:
            let number = "\(upload.notes.count + 1)"
            let part = url.appending(queryItems: [
                URLQueryItem(name: "partNumber", value: number)
            ])
            return UploadMessage(.put, part, bytes: upload.nextPart)
        case .finish:
            let parts = upload.notes.compactMap { Int($0.key) }.sorted()
                .map { number in
                    let tag = upload.notes["\(number)"] ?? ""
                    return "<Part><PartNumber>\(number)</PartNumber>"
                        + "<ETag>\(tag)</ETag></Part>"
                }
            let xml =
                "<CompleteMultipartUpload>\(parts.joined())"
                + "</CompleteMultipartUpload>"
            return UploadMessage(.post, url, body: HTTPBody(Data(xml.utf8)))
        case .terminate: return UploadMessage(.delete, url)
        }
    }

    func read(
        _ response: HTTPResponse, to step: UploadStep,
        of upload: inout RunningUpload
    ) -> UploadVerdict {
        let verdict = UploadVerdict(response)
        guard verdict == .accepted else { return verdict }
        switch step {
        case .create:
            guard let id = response.text.values(of: "UploadId").first else {
                return .invalid("the response has no UploadId")
            }
            upload.url = upload.request.url.appending(queryItems: [
                URLQueryItem(name: "uploadId", value: id)
            ])
        case .send:
            let number = "\(upload.notes.count + 1)"
            guard let tag = response.headers["ETag"] else {
                return .invalid("the response has no ETag")
            }
            upload.notes[number] = tag
            upload.offset = upload.nextPart.upperBound
        case .locate:
            let numbers = response.text.values(of: "PartNumber")
            let tags = response.text.values(of: "ETag")
            upload.notes = Dictionary(zip(numbers, tags)) { $1 }
            upload.offset = response.text.values(of: "Size")
                .compactMap { Int64($0) }.reduce(0, &+)
        case .finish:
            // S3 may report an error after it has sent the status 200.
            guard response.text.contains("<CompleteMultipartUploadResult")
            else { return .failed }
            upload.isComplete = true
        case .terminate: break
        }
        return .accepted
    }
}
