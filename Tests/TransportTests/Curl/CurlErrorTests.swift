#if os(Linux)
import TestSupport
import Testing

@testable import NessHTTP

/// The errors of libcurl as typed errors.
@Suite(.inTurn(.withoutSockets)) struct CurlErrorTests {
    @Test("a code of TLS is a failure of TLS, regardless of OpenSSL's words, unless the connection ended below TLS")
    func secure() {
        func map(_ reason: String) -> TransportError { CurlError.map(35, reason, isSent: false, wasSentBefore: false) }
        // libcurl 7.80 with OpenSSL 1.1.1, and with OpenSSL 3.
        for reason in ["error:0D0C5006:asn1 encoding routines:ASN1_item_verify:EVP lib", "error:06880006:asn1 encoding routines::EVP lib"] {
            #expect(map(reason).kind == .tls && map(reason).tlsFailure == .untrusted && map(reason).repetition == .always)
        }
        #expect(map("error:0A000126:invalid header, timed out").kind == .tls)
        for reason in [
            "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a.test:443", "Recv failure: Connection reset by peer",
            "TLS connect error: error:00000000:lib(0)::reason(0)",
        ] {
            #expect(map(reason).kind == .connectionLost && map(reason).tlsFailure == nil)
        }
    }

    @Test(
        "the number of an error that says what failed determines the kind, regardless of the words",
        arguments: [
            (.invalidRequest, [3, 4, 48]), (.cannotConnect, [5, 6, 28, 45, 97]), (.truncated, [18]), (.connectionLost, [52, 55]),
            (.malformedResponse, [1, 8, 23, 27, 61, 63, 88, 100]),
        ] as [(TransportError.Kind, [Int32])])
    func numbers(kind: TransportError.Kind, codes: [Int32]) {
        for code in codes {
            let error = CurlError.map(code, "certificate", isSent: false, wasSentBefore: false)
            #expect(error.kind == kind, "\(code)")
        }
    }
}
#endif
