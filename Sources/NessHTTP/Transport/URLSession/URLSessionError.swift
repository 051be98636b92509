import Foundation

/// Maps URLSession's errors.
///
/// A `URLSessionError` never means a cancellation by the caller: an exchange that Ness has canceled has ended before, and its later errors
/// are ignored.
enum URLSessionError {
    /// The progress of an exchange when it failed.
    struct Progress {
        /// True if bytes of the request's body were sent.
        var hasSent = false
        /// True if the head of the response arrived.
        var hasHead = false
        /// True if URLSession started to send a request, according to its measurements.
        var hasBegun = false
    }

    /// Makes the error of an exchange.
    /// - Parameters:
    ///   - error: URLSession's error.
    ///   - progress: The progress of the exchange.
    ///   - system: The implementation of URLSession.
    static func map(_ error: any Error, after progress: Progress, on system: URLSessionSystem = .current) -> TransportError {
        let error = error as NSError
        switch system {
        case .linux:
            guard error.domain == NSURLErrorDomain else {
                return TransportError(.connectionLost, error.localizedDescription, underlying: error)
            }
            return LibcurlText.error(reason(error), linuxKind(error.code), tlsFailure: tlsFailure(error.code), underlying: error)
        case .apple:
            var kind = appleKind(error)
            let stream = StreamError(error)
            // URLSession sent a request or had a connection, so the network was lost during the exchange.
            if kind == .offline, progress.hasBegun || stream.codes.contains(ENOTCONN) || stream.hasPeer { kind = .connectionLost }
            // The server closed the connection during the handshake.
            if kind == .tls, stream.isCutOff { kind = .connectionLost }
            // Some bytes went out or came in, so the server may have acted, regardless of what ended the exchange afterwards.
            if progress.hasSent || progress.hasHead, [.offline, .cannotConnect, .tls].contains(kind) { kind = .connectionLost }
            // URLSession reports a body shorter than its Content-Length as a lost connection. After a reset, an underlying error has
            // ECONNRESET.
            if progress.hasHead, kind == .connectionLost, error.code == NSURLErrorNetworkConnectionLost, !stream.codes.contains(ECONNRESET)
            {
                kind = .truncated
            }
            var failure = TransportError(kind, reason(error), underlying: error)
            if kind == .tls {
                failure.tlsFailure = stream.tlsFailure ?? tlsFailure(error.code) ?? .other
                if stream.isPolicy {
                    failure.reason += "; App Transport Security or NSPinnedDomains of the Info.plist does not accept the server"
                }
            }
            // The proxy requires credentials, which a retry would not have either.
            if error.domain == cfNetworkDomain, error.code == 307 { failure.repetition = .never("the proxy requires credentials") }
            return failure
        }
    }

    private static func reason(_ error: NSError) -> String {
        var described = error.localizedDescription
        if error.domain == NSURLErrorDomain, error.code == NSURLErrorDataLengthExceedsMaximum {
            // The system's text is misleading: it is about a resource that is too large.
            described += "; URLSession sends no GET with a body"
        }
        let beneath = (error.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription
        guard let beneath, beneath != error.localizedDescription else { return described }
        return "\(described) (\(beneath))"
    }

    // MARK: Linux

    private static func linuxKind(_ code: Int) -> TransportError.Kind? {
        switch code {
        case NSURLErrorUnknown: nil
        // The connection was closed before a response arrived.
        case NSURLErrorBadServerResponse: .connectionLost
        // The error for an invalid status line. The URL itself was already checked.
        case NSURLErrorUnsupportedURL: .malformedResponse
        default: kind(code)
        }
    }

    // MARK: Apple platforms

    /// The domain of the errors of CFNetwork's proxies, which have no code in URLSession's own domain.
    private static let cfNetworkDomain = "kCFErrorDomainCFNetwork"

    private static func appleKind(_ error: NSError) -> TransportError.Kind {
        switch error.domain {
        case NSURLErrorDomain: kind(error.code) ?? .connectionLost
        case cfNetworkDomain: cfNetworkKind(error.code)
        case NSPOSIXErrorDomain: posixKind(Int32(truncatingIfNeeded: error.code))
        default: .connectionLost
        }
    }

    private static func cfNetworkKind(_ code: Int) -> TransportError.Kind {
        switch code {
        case 1, 2: .cannotConnect  // the host is not found
        case 303: .malformedResponse  // the response can't be parsed
        case 306...311: .cannotConnect  // the proxy can't be reached, or rejects the request
        default: kind(code) ?? .connectionLost
        }
    }

    private static func posixKind(_ code: Int32) -> TransportError.Kind {
        switch code {
        case ENETDOWN, ENETUNREACH: .offline
        case ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH: .cannotConnect
        case ETIMEDOUT: .timedOut
        default: .connectionLost
        }
    }

    /// Facts about a connection, from undocumented keys of an error and of its underlying errors.
    private struct StreamError {
        /// POSIX codes, or, if they are negative, codes of Secure Transport.
        var codes: Set<Int32> = []
        /// True if there was a connection to a peer.
        var hasPeer = false

        init(_ error: NSError) {
            var next: NSError? = error
            while let error = next {
                hasPeer = hasPeer || error.userInfo["NSErrorPeerAddressKey"] != nil
                if let code = error.userInfo["_kCFStreamErrorCodeKey"] as? Int { codes.insert(Int32(truncatingIfNeeded: code)) }
                if error.domain == NSPOSIXErrorDomain { codes.insert(Int32(truncatingIfNeeded: error.code)) }
                next = error.userInfo[NSUnderlyingErrorKey] as? NSError
            }
        }

        /// True if the peer closed the connection: errSSLClosedGraceful, errSSLClosedAbort, errSSLClosedNoNotify.
        var isCutOff: Bool { !codes.isDisjoint(with: [-9805, -9806, -9816, ECONNRESET, ENOTCONN]) }
        /// True if a policy of the app rejected the server: errSSLFatalAlert.
        var isPolicy: Bool { codes.contains(-9802) }
        /// The reason of a TLS failure; `nil` if only URLSession's own code determines it. -9843 is errSSLHostNameMismatch.
        var tlsFailure: TLSFailure? { isPolicy ? .other : codes.contains(-9843) ? .wrongHost : nil }
    }

    // MARK: both

    /// The kind of a code of URLSession's domain; `nil` if the code does not determine it.
    private static func kind(_ code: Int) -> TransportError.Kind? {
        switch code {
        case NSURLErrorNotConnectedToInternet, NSURLErrorDataNotAllowed, NSURLErrorInternationalRoamingOff, NSURLErrorCallIsActive:
            .offline
        case NSURLErrorCannotFindHost, NSURLErrorCannotConnectToHost, NSURLErrorDNSLookupFailed: .cannotConnect
        case NSURLErrorTimedOut: .timedOut
        case NSURLErrorSecureConnectionFailed, NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateUntrusted,
            NSURLErrorServerCertificateHasUnknownRoot, NSURLErrorServerCertificateNotYetValid, NSURLErrorClientCertificateRejected,
            NSURLErrorClientCertificateRequired, NSURLErrorAppTransportSecurityRequiresSecureConnection:
            .tls
        // A cancellation that Ness did not request also ends the connection.
        case NSURLErrorNetworkConnectionLost, NSURLErrorCancelled: .connectionLost
        case NSURLErrorCannotDecodeRawData, NSURLErrorCannotDecodeContentData, NSURLErrorCannotParseResponse, NSURLErrorBadServerResponse:
            .malformedResponse
        case NSURLErrorBadURL, NSURLErrorUnsupportedURL, NSURLErrorDataLengthExceedsMaximum: .invalidRequest
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
