import Foundation

/// The algorithm of the digest that each part of an upload carries.
public enum UploadChecksum: String, Sendable, Hashable {
    /// SHA-256.
    case sha256
    /// SHA-1, which every server with the extension of tus supports. It finds damage, but does not stop an attacker.
    case sha1
    /// MD5, for older servers. It finds damage, but does not stop an attacker.
    case md5

    var tusName: String { rawValue }

    package func begin() -> RunningDigest { RunningDigest(self) }
}

/// A digest that is computed incrementally.
package struct RunningDigest {
    private let algorithm: UploadChecksum
    private var sha256 = SHA256Hash()
    /// The bytes of the other algorithms, which are computed over a whole part.
    private var bytes = Data()

    init(_ algorithm: UploadChecksum) { self.algorithm = algorithm }

    package mutating func add(_ chunk: Data) {
        switch algorithm {
        case .sha256: sha256.add(chunk)
        case .sha1, .md5: bytes += chunk
        }
    }

    package mutating func finish() -> Data {
        switch algorithm {
        case .sha256: sha256.finish()
        case .sha1: SHA1Hash.digest(of: bytes)
        case .md5: Data(MD5Hash.digest(of: bytes))
        }
    }
}
