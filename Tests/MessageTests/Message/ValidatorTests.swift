import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct ValidatorTests {
    private struct Refusing: ResponseValidator {
        func validate(for response: HTTPResponse) -> ResponseValidatorResult { .invalid }
    }

    private func response(_ statusCode: Int = 200, _ headers: HTTPHeaders = [:]) throws -> HTTPResponse {
        HTTPResponse(statusCode: statusCode, headers: headers, request: HTTPRequest(url: try url("http://x")))
    }

    @Test("a rejection without a reason names the validator")
    func noReason() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let error = await rig.ness.httpRequest(withUrl: "x").validate(using: Refusing()).dataRequest().nessError()
        #expect(error?.context.reason.contains("Refusing") == true)
    }

    @Test("status codes can be accepted as one code, as a range and as a list")
    func statusCodes() throws {
        func accepted(_ validator: StatusCodeValidator) throws -> [Int] {
            try [199, 200, 204, 299, 300, 404].filter { validator.validate(for: try response($0)) == .valid }
        }
        #expect(try accepted(StatusCodeValidator(204)) == [204])
        #expect(try accepted(StatusCodeValidator(200..<300)) == [200, 204, 299])
        #expect(try accepted(StatusCodeValidator(200...204)) == [200, 204])
        #expect(try accepted(StatusCodeValidator(300...)) == [300, 404])
        #expect(try accepted(StatusCodeValidator(..<204)) == [199, 200])
        #expect(try accepted(StatusCodeValidator([404, 200])) == [200, 404])
        #expect(try accepted(StatusCodeValidator([Int]())) == [])
        #expect(try accepted(.success) == [200, 204, 299])
    }

    @Test("every named field has to meet the condition, and other fields none")
    func everyField() throws {
        let response = try response(200, ["A": "1", "B": "2", "C": "3"])
        let verdicts: [(HeaderValidation, HTTPHeaders, Bool)] = [
            (.shouldMatch, ["B": "2"], true), (.shouldContains, ["B": "2", "c": "3"], true), (.shouldMatch, [:], true),
            (.shouldNotContains, [:], true), (.shouldMatch, ["A": "1", "B": "3"], false),
            (.shouldContains, ["A": "1", "Z": "1"], false), (.shouldNotContains, ["Z": "1", "B": "2"], false),
        ]
        for (validation, headers, isValid) in verdicts {
            #expect((HeaderValidator(validation, headers).validate(for: response) == .valid) == isValid, "\(validation) \(headers)")
        }
    }

    @Test("the reason names the field, and hides a secret value")
    func headerReason() throws {
        func reason(_ validation: HeaderValidation, _ wanted: HTTPHeaders) throws -> String {
            let response = try response(200, ["A": "1", "Set-Cookie": "s=hidden-cookie"])
            guard case .invalidWithReason(let reason) = HeaderValidator(validation, wanted).validate(for: response) else { return "valid" }
            return reason
        }
        #expect(try reason(.shouldContains, ["X": "1"]) == "missing header, expected X: 1")
        #expect(try reason(.shouldMatch, ["a": "2"]) == "wrong value of the header a, expected a: 2")
        #expect(try reason(.shouldNotContains, ["A": "1"]) == "unexpected header A: 1")
        #expect(try reason(.shouldNotContains, ["Set-Cookie": "s=hidden-cookie"]) == "unexpected header Set-Cookie")
    }

    @Test("validators check a status, a range, required header fields and forbidden ones")
    func validators() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x", status: 204, headers: ["X-A": "1", "X-B": "2"])))
        rig.mock.on(.get, "/300") { _ in .status(300) }
        let request = rig.ness.httpRequest(withUrl: "x")
        let accepting = [
            request.validate(statusCode: 204), request.validate(statusCodes: 200..<205), request.validate(shouldHaveHeaders: ["X-A": "1"]),
            request.validate(.shouldMatch, ["X-B": "2"]), request.validate(.shouldNotContains, ["X-B": "1"]), request.validate(),
            request.validate(statusCodes: [200, 204]),
        ]
        for builder in accepting { _ = try await builder.dataRequest().value }
        let refusing = [
            request.validate(statusCode: 200), request.validate(statusCodes: 200..<204), request.validate(shouldHaveHeaders: ["X-A": "2"]),
            request.validate(.shouldMatch, ["X-B": "1"]), request.validate(.shouldNotContains, ["X-B": "2"]),
            request.validate(statusCodes: [200]), rig.ness.httpRequest(withUrl: "300").validate(),
        ]
        for builder in refusing { #expect(await builder.dataRequest().nessError()?.kind == .validation) }
    }

    @Test(
        "a validation failure first goes to the control, and then fails data, upload and download with the reason",
        arguments: 0..<3)
    func refusals(kind: Int) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file"), control = AskedControl(CounterRetryControl(maxRetryCount: 1))
            try Data("file".utf8).write(to: file)
            let rig = Rig(onUnmatched: .reply(.text("none", headers: ["X-State": "bad"])))
            let builder = rig.ness.httpRequest(kind == 1 ? .put : .get, withUrl: "x").validate(shouldHaveHeaders: ["X-State": "good"])
            let error =
                switch kind {
                case 0: await builder.dataRequest(with: control).nessError()
                case 1: await builder.uploadRequest(forFileLocation: file, with: control).nessError()
                default: await builder.downloadRequest(forSavedLocation: file, with: control).nessError()
                }
            #expect(error?.kind == .validation)
            #expect(error?.context.reason == "wrong value of the header X-State, expected X-State: good")
            #expect(error?.context.attempts == 2 && rig.mock.requests.count == 2)
            #expect(control.asked.entries.map(\.number) == [1, 2])
            #expect(try String(contentsOf: file, encoding: .utf8) == "file")
        }
    }

    static let truthTable: [(header: HTTPHeaders, matches: Bool, contains: Bool)] = [
        ([:], false, false),
        (["X-Other": "v"], false, false),
        (["X-Test": "v"], true, true),
        (["x-test": "v"], true, true),
        (["X-TEST": "v", "X-Other": "1"], true, true),
        (["X-Test": "V"], false, false),
        (["X-Test": "w"], false, false),
        (["X-Test": ""], false, false),
        (["X-Test": "w, v"], false, true),
        (["X-Test": "w", "x-test": "v"], false, true),
        (["X-Test": "v;q=1"], false, true),
        (["X-Test": "vv"], false, false),
    ]

    @Test(
        "a header validator of each kind judges a field that is absent, equal, different or has several values",
        arguments: truthTable)
    func headerFields(header: HTTPHeaders, matches: Bool, contains: Bool) throws {
        let response = HTTPResponse(statusCode: 200, headers: header, request: HTTPRequest(url: try url("http://x")))
        for name in ["X-Test", "x-tEST"] {
            func accepts(_ validation: HeaderValidation) -> Bool {
                HeaderValidator(validation, [name: "v"]).validate(for: response) == .valid
            }
            #expect(accepts(.shouldMatch) == matches)
            #expect(accepts(.shouldContains) == contains)
            #expect(accepts(.shouldNotContains) == !contains)
        }
    }
}
