import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Reads URLSession's errors.
///
/// On Linux many have the code -1 and say what was the matter only in libcurl's words, which vary little from version to version;
/// they are matched in lower case and always kept in the reason.
enum URLSessionError {
    static func map(_ error: any Error) -> any Error {
        let error = error as NSError
        guard error.domain == NSURLErrorDomain else {
            return TransportError(.connectionLost, error.localizedDescription, underlying: error)
        }
        if error.code == NSURLErrorCancelled { return CancellationError() }
        let text = reason(error)
        return TransportError(kind(error.code) ?? kind(text: text.lowercased()), text, underlying: error)
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
        // The connection was closed before a response.
        case NSURLErrorBadServerResponse: .connectionLost
        // What URLSession on Linux says of a status line it can't read: the URL itself was checked before.
        case NSURLErrorUnsupportedURL: .malformedResponse
        case NSURLErrorCannotDecodeRawData, NSURLErrorCannotDecodeContentData, NSURLErrorCannotParseResponse: .malformedResponse
        case NSURLErrorBadURL: .invalidRequest
        default: nil
        }
    }

    private static let kindsByText: [(String, TransportError.Kind)] = [
        ("bytes remaining", .truncated), ("outstanding read data", .truncated), ("partial file", .truncated),
        ("ssl", .tls), ("tls", .tls), ("certificate", .tls),
        ("network is unreachable", .offline), ("no route to host", .cannotConnect),
        ("couldn't connect", .cannotConnect), ("could not connect", .cannotConnect), ("failed to connect", .cannotConnect),
        ("resolve host", .cannotConnect), ("connection refused", .cannotConnect),
        ("connection reset", .connectionLost), ("recv failure", .connectionLost), ("send failure", .connectionLost),
        ("broken pipe", .connectionLost), ("empty reply", .connectionLost), ("http/2 stream", .connectionLost),
        ("timed out", .timedOut),
        ("chunk", .malformedResponse), ("hexadecimal", .malformedResponse), ("encoding", .malformedResponse),
        ("header", .malformedResponse), ("weird", .malformedResponse), ("unsupported protocol", .malformedResponse),
        ("http/0.9", .malformedResponse), ("content-length", .malformedResponse), ("invalid", .malformedResponse),
    ]

    private static func kind(text: String) -> TransportError.Kind {
        kindsByText.first { text.contains($0.0) }?.1 ?? .connectionLost
    }
}
