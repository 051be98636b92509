import Foundation
import NessHTTP

/// `ness-demo URL`: the response as it arrived.
enum Get {
    static func run(_ url: String, headers: HTTPHeaders) async throws {
        let response = try await Ness.default.httpRequest(.get, withUrl: url).set(headers: headers).dataRequest().value.message
        print("HTTP \(response.statusCode)")
        for field in response.headers { print("\(field.name): \(field.value)") }
        print()
        FileHandle.standardOutput.write(response.body)
        if response.body.last != UInt8(ascii: "\n") { print() }
    }
}
