import Foundation
import NessHTTP

/// The library's hashes, which `DigestTests` checks, for expectations.
package enum TestHash {
    package static func md5(_ data: Data) -> Data { Data(MD5Hash.digest(of: data)) }
    package static func sha256(_ data: Data) -> Data { SHA256Hash.digest(of: data) }
    package static func hexadecimal(_ data: Data) -> String { data.hexadecimal }
}
