import Foundation

@testable import NessHTTP

/// The library's hashes, which `DigestTests` checks, for expectations.
enum TestHash {
    static func md5(_ data: Data) -> Data { Data(MD5Hash.digest(of: data)) }
    static func sha256(_ data: Data) -> Data { SHA256Hash.digest(of: data) }
    static func hexadecimal(_ data: Data) -> String { data.hexadecimal }
}
