import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Maps URLSession's errors.
///
/// On Linux many errors have the code -1, and only libcurl's text tells the reason. `LibcurlText` interprets it.
enum URLSessionError {
    static func map(_ error: any Error) -> any Error {
        let error = error as NSError
        guard error.domain == NSURLErrorDomain else {
            return TransportError(.connectionLost, error.localizedDescription, underlying: error)
        }
        if error.code == NSURLErrorCancelled { return CancellationError() }
        return LibcurlText.error(reason(error), kind(error.code), tlsFailure: tlsFailure(error.code), underlying: error)
    }

    private static func reason(_ error: NSError) -> String {
        let described = error.localizedDescription
        let beneath = (error.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription
        guard let beneath, beneath != described else { return described }
        return "\(described) (\(beneath))"
    }

    private static func kind(_ code: Int) -> TransportError.Kind? {
        switch code {
        case NSURLErrorNotConnectedToInternet, NSURLErrorDataNotAllowed, NSURLErrorInternationalRoamingOff: .offline
        case NSURLErrorCannotFindHost, NSURLErrorCannotConnectToHost, NSURLErrorDNSLookupFailed: .cannotConnect
        case NSURLErrorTimedOut: .timedOut
        case NSURLErrorSecureConnectionFailed, NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateUntrusted,
            NSURLErrorServerCertificateHasUnknownRoot, NSURLErrorServerCertificateNotYetValid, NSURLErrorClientCertificateRejected,
            NSURLErrorClientCertificateRequired, NSURLErrorAppTransportSecurityRequiresSecureConnection:
            .tls
        case NSURLErrorNetworkConnectionLost: .connectionLost
        // The connection was closed before a response arrived.
        case NSURLErrorBadServerResponse: .connectionLost
        // The error of URLSession on Linux for an invalid status line. The URL itself was already checked.
        case NSURLErrorUnsupportedURL: .malformedResponse
        case NSURLErrorCannotDecodeRawData, NSURLErrorCannotDecodeContentData, NSURLErrorCannotParseResponse: .malformedResponse
        case NSURLErrorBadURL: .invalidRequest
        default: nil
        }
    }

    private static func tlsFailure(_ code: Int) -> TLSFailure? {
        switch code {
        case NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateNotYetValid: .expired
        case NSURLErrorServerCertificateUntrusted, NSURLErrorServerCertificateHasUnknownRoot: .untrusted
        case NSURLErrorSecureConnectionFailed: .protocolMismatch
        case NSURLErrorClientCertificateRejected, NSURLErrorClientCertificateRequired: .clientCertificate
        default: nil
        }
    }
}
