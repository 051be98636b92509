// Certificates. A type of Core Foundation has no members, and no other type converts to it without `as`: `AnyObject` has the same rules here.
// The result of a function has the type that it is bridged to, and a lint looks for a CFString without `as String`.
import AppleFoundation
import Foundation

public class SecCertificate {}

@available(*, unavailable) extension SecCertificate: @unchecked Sendable {}

@available(macOS 12, iOS 15, tvOS 15, watchOS 8, *)
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> AnyObject? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> Data { Data() }

public typealias CFArray = AnyObject
public typealias CFData = AnyObject
public typealias CFDictionary = AnyObject
public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias CFTypeID = UInt
public typealias OSStatus = Int32

public class CFAllocator {}
public class CFError {}
public class SecIdentity {}

@available(*, unavailable) extension SecIdentity: @unchecked Sendable {}

public let errSecSuccess: OSStatus = 0
public let kSecImportExportPassphrase: CFString = ""
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public let kSecImportToMemoryOnly: CFString = ""
public let kSecImportItemIdentity: CFString = ""
public let kSecImportItemCertChain: CFString = ""

public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID { 0 }
public func SecIdentityGetTypeID() -> CFTypeID { 0 }
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? { nil }
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus { 0 }
@available(macOS 10.14, iOS 12, tvOS 12, watchOS 5, *)
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus { 0 }

extension URLCredential {
    public enum Persistence: UInt, Sendable { case none, forSession, permanent, synchronizable }

    public convenience init(user: String, password: String, persistence: Persistence) { self.init() }
    public convenience init(identity: SecIdentity, certificates certArray: [Any]?, persistence: Persistence) { self.init() }
}
