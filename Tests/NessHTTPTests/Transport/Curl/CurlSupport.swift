#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Makes a manager over libcurl, whatever engine the test run names.
func curlNess(
    _ options: (inout CurlTransport.Options) -> Void = { _ in }, observers: [any RequestObserver] = [],
    configure: (inout Ness.Configuration) -> Void = { _ in }
) throws -> Ness {
    let transport = try CurlTransport { settings in
        // A proxy of the machine would be in the way.
        settings.proxy = .direct
        options(&settings)
    }
    return Ness { configuration in
        configuration.transport = transport
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
    /// The authority's certificate, for a transport's options.
    var trusted: CurlTransport.PEM { .data(Data(pem.utf8)) }
}

extension TestCertificate {
    /// The certificate with its key, for a transport's options.
    /// - Parameters:
    ///   - password: The password that encrypts the key; `nil` for a plain key.
    ///   - given: The password in the options; `nil` for the right one.
    func forClient(password: String? = nil, given: String? = nil) throws -> CurlTransport.ClientCertificate {
        CurlTransport.ClientCertificate(
            certificate: .data(Data(try pem().utf8)), key: .data(Data(try keyPEM(password: password).utf8)), password: given ?? password)
    }
}
#endif
