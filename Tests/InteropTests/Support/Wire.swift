#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A transport that rows run over. Each row runs over both in the same test run, whatever `NESS_TRANSPORT` names. `NESS_WIRE=curl` leaves
/// URLSession out: over another libcurl than the system's it has faults of its own.
enum Wire: String, CaseIterable, Sendable {
    case curl
    case urlSession

    static let allCases = ProcessInfo.processInfo.environment["NESS_WIRE"].flatMap(Wire.init).map { [$0] } ?? [.curl, .urlSession]

    /// The newest version of HTTP that this libcurl may be used with over TLS.
    static let secureVersion: ConnectionMetrics.HTTPVersion =
        (try? CurlTransport())?.description.hasPrefix("CurlTransport (HTTP/2") == true ? .http2 : .http1_1

    /// Makes a manager over the transport.
    /// - Parameters:
    ///   - observers: The manager's observers.
    ///   - configure: Changes the manager's configuration.
    ///   - options: Changes the options of libcurl, Not called for URLSession.
    func ness(
        observers: [any RequestObserver] = [], _ configure: (inout Ness.Configuration) -> Void = { _ in },
        options: (inout CurlTransport.Options) -> Void = { _ in }
    ) throws -> Ness {
        let transport: any Transport
        switch self {
        case .curl:
            transport = try CurlTransport { settings in
                // A proxy of the machine would be in the way.
                settings.proxy = .direct
                options(&settings)
            }
        case .urlSession: transport = URLSessionTransport()
        }
        let trusted = try NessHTTP.Certificates(pem: Data(Certificates.authority.get().pem.utf8))
        return Ness { configuration in
            configuration.transport = transport
            if self == .curl { configuration.serverTrust = .pinned(["*": .authorities(trusted)]) }
            configuration.observers = observers
            configure(&configuration)
        }
    }
}

/// Certificates of the servers.
enum Certificates {
    /// The authority that the rows' clients trust. In a process of a suite's own it is the one that the system trusts.
    static let authority = OwnProcess.certificates == nil ? Result { try TestAuthority() } : OwnProcess.authority

    /// Writes a certificate with its key.
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - file: The file, which holds both.
    static func write(_ certificate: TestCertificate, to file: URL) throws {
        try (certificate.pem() + certificate.keyPEM()).write(to: file, atomically: true, encoding: .utf8)
    }
}
#endif
