import Foundation
import NessHTTP
import TestSupport
import Testing

@testable import NessTesting

@Suite struct ReplayTests {
    /// A manager that replays a HAR file with one exchange.
    private func replaying(_ response: String, to method: String = "GET") throws -> Ness {
        let entry = #"{"request": {"method": "\#(method)", "url": "https://mock.test/x"}, "response": \#(response)}"#
        return mocked(ReplayTransport(try HTTPArchive(data: Data(#"{"log": {"entries": [\#(entry)]}}"#.utf8))))
    }

    @Test("a body that the recorder left out for a secret is not replayed as an empty one: the error says that it was not recorded")
    func leftOut() async throws {
        let mock = MockTransport()
        mock.on(.get, "/x") { _ in .text("my password: hunter2") }
        let recorder = RecordingTransport(wrapping: mock)
        _ = try await mocked(recorder).get("x").response()
        let replay = mocked(ReplayTransport(try HTTPArchive(data: recorder.archive.encoded())))
        let error = await #expect(throws: MockTransportError.self) { try await replay.get("x").response() }
        #expect(error == .invalidReply("the body of the response to GET https://mock.test/x was not recorded"))
    }

    @Test(
        "a body in a file that is damaged, or left out by a browser, is an error; a body that the file does not mention is empty",
        arguments: [
            (#"{"status": 200, "content": {"text": "QUJ", "encoding": "base64"}}"#, false),
            (#"{"status": 200, "content": {"size": 9}}"#, false), (#"{"status": 200, "content": {"size": 0}}"#, true),
            (#"{"status": 200, "content": {}}"#, true), (#"{"status": 200}"#, true), (#"{"status": 304, "content": {"size": 9}}"#, true),
        ])
    func missing(response: String, isEmpty: Bool) async throws {
        let ness = try replaying(response)
        guard isEmpty else {
            _ = await #expect(throws: MockTransportError.self) { try await ness.get("x").response() }
            return
        }
        #expect(try await ness.get("x").response().body.isEmpty)
    }

    @Test("a response to HEAD is replayed with its recorded length, or without one")
    func head() async throws {
        for (fields, length) in [("", nil), (#"{"name": "Content-Length", "value": "9"}"#, "9")] {
            let response = try await replaying(#"{"status": 200, "headers": [\#(fields)]}"#, to: "HEAD").head("x").response()
            #expect(response.headers["Content-Length"] == length)
        }
    }
}
