import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// The errors of URLSession as typed errors. Their codes are documented, so Apple's are checked on Linux, too.
@Suite(.inTurn(.withoutSockets)) struct URLSessionErrorTests {
    private typealias Kind = TransportError.Kind

    private static func error(_ code: Int, _ domain: String = NSURLErrorDomain, _ information: [String: Any] = [:]) -> NSError {
        NSError(domain: domain, code: code, userInfo: [NSLocalizedDescriptionKey: "text"].merging(information) { $1 })
    }

    /// Maps an error as on Apple platforms.
    private static func map(_ error: NSError, after progress: URLSessionError.Progress = .init()) -> TransportError {
        URLSessionError.map(error, after: progress, on: .apple)
    }

    /// Every documented code that a data task can end with.
    private static let apple: [Int: Kind] = [
        -1: .connectionLost, -999: .connectionLost, -1000: .invalidRequest, -1001: .timedOut, -1002: .invalidRequest,
        -1003: .cannotConnect, -1004: .cannotConnect, -1005: .connectionLost, -1006: .cannotConnect, -1007: .connectionLost,
        -1008: .connectionLost, -1009: .offline, -1010: .connectionLost, -1011: .malformedResponse, -1012: .connectionLost,
        -1013: .connectionLost, -1014: .connectionLost, -1015: .malformedResponse, -1016: .malformedResponse, -1017: .malformedResponse,
        -1018: .offline, -1019: .offline, -1020: .offline, -1021: .connectionLost, -1022: .tls, -1103: .invalidRequest,
        -2000: .connectionLost,
    ]

    /// The failures of TLS. Their codes are not the same on Linux.
    private static let secure: [Int: TLSFailure] = [
        NSURLErrorSecureConnectionFailed: .protocolMismatch, NSURLErrorServerCertificateHasBadDate: .expired,
        NSURLErrorServerCertificateUntrusted: .untrusted, NSURLErrorServerCertificateHasUnknownRoot: .untrusted,
        NSURLErrorServerCertificateNotYetValid: .expired, NSURLErrorClientCertificateRejected: .clientCertificate,
        NSURLErrorClientCertificateRequired: .clientCertificate, NSURLErrorAppTransportSecurityRequiresSecureConnection: .other,
    ]

    @Test("the error of a GET with a body names the cause, which the system's text does not")
    func getWithBody() {
        let mapped = Self.map(Self.error(-1103))
        #expect(mapped.kind == .invalidRequest && mapped.reason.contains("no GET with a body"))
    }

    @Test("each error of URLSession on Apple platforms has its kind, and no error is a cancellation by the caller")
    func kinds() {
        for (code, kind) in Self.apple {
            let mapped = Self.map(Self.error(code))
            #expect(mapped.kind == kind, "\(code)")
            #expect((mapped.tlsFailure != nil) == (kind == .tls), "\(code)")
        }
        for (code, failure) in Self.secure {
            let mapped = Self.map(Self.error(code))
            #expect(mapped.kind == .tls && mapped.tlsFailure == failure, "\(code)")
        }
    }

    @Test("an error from below URLSession has a kind: a proxy that rejects, a network that is gone")
    func otherDomains() {
        let network = "kCFErrorDomainCFNetwork"
        let expected: [(Int, String, Kind)] = [
            (2, network, .cannotConnect), (303, network, .malformedResponse), (306, network, .cannotConnect),
            (307, network, .cannotConnect), (310, network, .cannotConnect), (-1004, network, .cannotConnect), (1, "Other", .connectionLost),
            (Int(ENETDOWN), NSPOSIXErrorDomain, .offline), (Int(ECONNREFUSED), NSPOSIXErrorDomain, .cannotConnect),
            (Int(ETIMEDOUT), NSPOSIXErrorDomain, .timedOut), (Int(ENOTCONN), NSPOSIXErrorDomain, .connectionLost),
        ]
        for (code, domain, kind) in expected {
            let mapped = Self.map(Self.error(code, domain))
            #expect(mapped.kind == kind, "\(domain) \(code)")
            #expect(mapped.repetition?.isRuledOut == (code == 307 ? true : nil))
        }
    }

    @Test("an error after bytes went out or came in never says that the server was not reached")
    func progress() {
        let unsent = Self.apple.filter { [.offline, .cannotConnect, .tls].contains($0.value) }.map(\.key)
        for code in unsent + Self.secure.keys {
            for progress in [URLSessionError.Progress(hasSent: true), .init(hasHead: true)] {
                let mapped = Self.map(Self.error(code), after: progress)
                #expect(mapped.kind == .connectionLost && mapped.tlsFailure == nil, "\(code)")
            }
        }
    }

    @Test("a network that goes away during an exchange is a lost connection, because the server may have acted")
    func wentOffline() {
        let address: [String: Any] = ["NSErrorPeerAddressKey": Data([16, 2])]
        let beneath = Self.error(-1009, "kCFErrorDomainCFNetwork", ["_kCFStreamErrorCodeKey": Int(ENOTCONN)])
        let expected: [([String: Any], URLSessionError.Progress, Kind)] = [
            ([:], .init(), .offline), (["_kCFStreamErrorCodeKey": Int(ENETDOWN)], .init(), .offline),
            ([:], .init(hasBegun: true), .connectionLost), (["_kCFStreamErrorCodeKey": Int(ENOTCONN)], .init(), .connectionLost),
            ([NSUnderlyingErrorKey: beneath], .init(), .connectionLost), (address, .init(), .connectionLost),
        ]
        for (information, progress, kind) in expected {
            let mapped = Self.map(Self.error(-1009, NSURLErrorDomain, information), after: progress)
            #expect(mapped.kind == kind, "\(information) \(progress)")
        }
        // A server that refuses the connection has an address, too.
        #expect(Self.map(Self.error(-1004, NSURLErrorDomain, address)).kind == .cannotConnect)
    }

    @Test("a failed handshake tells whether the connection broke, an app's policy rejected it, or the certificate is for another host")
    func handshake() {
        let failed = NSURLErrorSecureConnectionFailed, untrusted = NSURLErrorServerCertificateUntrusted
        let expected: [(Int, Int, Kind, TLSFailure?)] = [
            (failed, -9806, .connectionLost, nil), (failed, -9816, .connectionLost, nil), (failed, Int(ECONNRESET), .connectionLost, nil),
            (failed, -9836, .tls, .protocolMismatch), (failed, -9802, .tls, .other), (untrusted, -9843, .tls, .wrongHost),
            (untrusted, -9813, .tls, .untrusted),
        ]
        for (code, stream, kind, failure) in expected {
            let beneath = Self.error(code, "kCFErrorDomainCFNetwork", ["_kCFStreamErrorCodeKey": stream])
            let error = Self.error(code, NSURLErrorDomain, [NSUnderlyingErrorKey: beneath])
            let mapped = Self.map(error)
            #expect(mapped.kind == kind && mapped.tlsFailure == failure, "\(code) \(stream)")
            #expect(mapped.reason.contains("NSPinnedDomains") == (stream == -9802), "\(code) \(stream)")
        }
    }

    @Test("a body shorter than its length is truncated, unless the connection was reset")
    func truncated() {
        let posix = Self.error(Int(ECONNRESET), NSPOSIXErrorDomain)
        let beneath = Self.error(-1005, "kCFErrorDomainCFNetwork", [NSUnderlyingErrorKey: posix])
        let resets: [[String: Any]] = [["_kCFStreamErrorCodeKey": Int(ECONNRESET)], [NSUnderlyingErrorKey: beneath]]
        for reset in resets {
            let mapped = Self.map(Self.error(-1005, NSURLErrorDomain, reset), after: .init(hasHead: true))
            #expect(mapped.kind == .connectionLost)
        }
        #expect(Self.map(Self.error(-1005), after: .init(hasHead: true)).kind == .truncated)
        #expect(Self.map(Self.error(-1005), after: .init(hasSent: true)).kind == .connectionLost)
    }

    @Test("Linux uses some codes for other failures, and libcurl's text where the code says nothing; URLSession's error is kept")
    func linux() {
        let expected: [(Int, String, Kind)] = [
            (-1011, "text", .connectionLost), (-1002, "text", .malformedResponse), (-1005, "text", .connectionLost),
            (-1, "SSL certificate problem", .tls), (-1, "transfer closed with 5 bytes remaining to read", .truncated),
            (-1004, "text", .cannotConnect), (-1001, "text", .timedOut), (-999, "text", .connectionLost),
            (-1, "CONNECT tunnel failed, response 407", .cannotConnect), (-1, "Out of memory", .malformedResponse),
        ]
        for (code, text, kind) in expected {
            let error = Self.error(code, NSURLErrorDomain, [NSLocalizedDescriptionKey: text])
            let mapped = URLSessionError.map(error, after: .init(hasHead: true), on: .linux)
            #expect(mapped.kind == kind, "\(code) \(text)")
            let kept = mapped.underlying as? NSError
            #expect(kept == error, "\(code) \(text)")
        }
    }
}
