import Foundation
import NessHTTP

/// The fields with which a client names and limits its request. Both reach the upstream.
enum RequestFields {
    static let idName = "X-Request-Id"
    private static let timeoutName = "X-Request-Timeout"

    /// Returns the client's identifier of the request. Makes one if the client sent none, or one with more than 128
    /// characters or with an invisible one.
    static func id(of headers: HTTPHeaders) -> String {
        if let id = headers[idName], (1...128).contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return id }
        return UUID().uuidString.lowercased()
    }

    /// Returns the time that the client gives the request; `nil` for no limit.
    /// - Throws: `Refusal` with 400 for a value that is not a number of seconds.
    static func timeout(of headers: HTTPHeaders) throws -> Duration? {
        guard let value = headers[timeoutName] else { return nil }
        // `Double` alone would also read `inf` and `0x1p3`.
        guard value.utf8.count <= 9, value.utf8.allSatisfy(Set("0123456789.".utf8).contains), let seconds = Double(value) else {
            throw Refusal(400)
        }
        return .seconds(seconds)
    }
}
