import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Resumable uploads of a manager whose loaders send requests themselves.
@Suite struct UploadLoaderTests {
    @Test("a 104 to a request that a loader makes after a failed creation does not name the upload")
    func interimOfLoader() async throws {
        let side = try url("https://files.test/side"), sent = Log<String>()
        let transport = FakeTransport { request, receive in
            sent.add("\(request.method) \(request.url.path)")
            if request.url.path == "/side" {
                try await receive(.interim(statusCode: 104, headers: ["Upload-Draft-Interop-Version": "8", "Location": "/other"]))
                try await receive(.head(statusCode: 204, headers: [:]))
                return
            }
            if sent.entries.count == 1 { throw TransportError(.connectionLost, "lost on purpose") }
            try await receive(.head(statusCode: 400, headers: [:]))
        }
        let ness = Ness {
            $0.transport = transport
            $0.baseURL = URL(string: "https://files.test")
            $0.clock = ManualClock(advancesAutomatically: true)
            $0.retryControl = CounterRetryControl(maxRetryCount: 1)
            $0.loaders = [
                ClosureLoader { request, next in
                    do {
                        return try await next(request)
                    } catch {
                        _ = try await next(HTTPRequest(url: side))
                        throw error
                    }
                }
            ]
        }
        try await withUpload { file, _ in
            let error = await ness.post("films").uploadRequest(forFileLocation: file, resuming: .draft()).nessError()
            #expect(error?.response?.statusCode == 400)
            #expect(sent.entries == ["POST /films", "GET /side", "POST /films"])
        }
    }
}
