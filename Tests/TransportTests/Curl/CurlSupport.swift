#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The options of a transport, and the certificates of every host.
@dynamicMemberLookup struct CurlTestOptions {
    var transport = CurlTransport.Options()
    /// The certificates of the authorities, in the text form.
    var authorities: String?
    var pinnedPublicKeys: [String] = []
    var clientCertificate: ClientIdentity?

    init() {
        // A proxy of the machine would be in the way.
        transport.proxy = .direct
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<CurlTransport.Options, Value>) -> Value {
        get { transport[keyPath: path] }
        set { transport[keyPath: path] = newValue }
    }

    /// The rule for every host.
    var serverTrust: ServerTrust {
        get throws {
            let authorities = try authorities.map { try Certificates(pem: Data($0.utf8)) }
            if !pinnedPublicKeys.isEmpty { return .pinned(["*": .publicKeys(pinnedPublicKeys, signedBy: authorities)]) }
            return authorities.map { .pinned(["*": .authorities($0)]) } ?? .system
        }
    }
}

/// Makes a manager over libcurl, whatever engine the test run names.
func curlNess(
    _ options: (inout CurlTestOptions) -> Void = { _ in }, observers: [any RequestObserver] = [],
    configure: (inout Ness.Configuration) -> Void = { _ in }
) throws -> Ness {
    var settings = CurlTestOptions()
    options(&settings)
    let given = settings.transport
    let transport = try CurlTransport { $0 = given }, trust = try settings.serverTrust
    return Ness { configuration in
        configuration.transport = transport
        configuration.serverTrust = trust
        configuration.clientIdentities = settings.clientCertificate.map { ["*": $0] } ?? [:]
        configuration.observers = observers
        configure(&configuration)
    }
}

extension Trait where Self == ConditionTrait {
    /// The test shows that a connection is used again, which no request does before libcurl 7.80.
    static var keepingConnections: Self {
        .enabled(if: CurlLibrary.shared?.keepsConnections == true, "this libcurl opens a connection for each request")
    }
}

/// Lets a test fail with the versions of libcurl whose fault the guide OnLinux names.
struct LibcurlFault: TestTrait, TestScoping {
    fileprivate let versions: ClosedRange<UInt32>

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await withKnownIssue("OnLinux names this fault of libcurl", isIntermittent: true) {
            try await function()
        } when: {
            CurlLibrary.shared.map { versions.contains($0.version) } == true
        }
    }
}

extension Trait where Self == LibcurlFault {
    /// A lost connection may count as one on which the server acted.
    static var lostConnections: Self { LibcurlFault(versions: 0x08_05_00...0x08_12_FF) }

    /// The faults of the one version.
    static var onlyOf8_16: Self { LibcurlFault(versions: 0x08_10_00...0x08_10_FF) }

    /// Trailers after a body with a length are lost.
    static var lostTrailers: Self { LibcurlFault(versions: 0x08_05_00...0x08_05_FF) }
}

extension TestAuthority {
    /// The authority's certificate.
    var certificates: Certificates { get throws { try Certificates(pem: Data(pem.utf8)) } }
}

extension TestCertificate {
    /// The certificate with a key, in the text form.
    /// - Parameters:
    ///   - password: The password that encrypts the key; `nil` for a plain key.
    ///   - given: The password that the identity gets; `nil` for the right one.
    ///   - other: The certificate whose key the identity gets; `nil` for this one's.
    func forClient(password: String? = nil, given: String? = nil, keyOf other: TestCertificate? = nil) throws -> ClientIdentity {
        try ClientIdentity(
            certificates: Certificates(pem: Data(pem().utf8)), key: Data((other ?? self).keyPEM(password: password).utf8),
            password: given ?? password)
    }
}
#endif
