// Certificates. Core Foundation's types are those that they are bridged to.
import AppleFoundation
import Foundation

// Without state, as every class here.
public class SecCertificate: @unchecked Sendable {}

@available(macOS 12, iOS 15, *)
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> AnyObject? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> Data { Data() }
