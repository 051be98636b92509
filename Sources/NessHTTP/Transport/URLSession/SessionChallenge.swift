import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The decision of the application about a server's certificate. `nil` leaves it to the system. There are no such challenges on Linux.
typealias TrustAnswer = (@Sendable (URLAuthenticationChallenge) -> ChallengeAnswer)?

/// A decision about a challenge of URLSession.
enum ChallengeAnswer: Sendable {
    /// The system decides.
    case systemDefault
    /// The server gets a credential, or its certificate is accepted.
    case use(URLCredential?)
    /// The request continues without a credential, and the 401 is its response.
    case reject
    /// The task ends.
    case cancel

    /// The decision in URLSession's form.
    var disposition: URLSession.AuthChallengeDisposition {
        switch self {
        case .systemDefault: .performDefaultHandling
        case .use: .useCredential
        case .reject: .rejectProtectionSpace
        case .cancel: .cancelAuthenticationChallenge
        }
    }

    /// The credential that the server gets, or that accepts its certificate.
    var credential: URLCredential? { if case .use(let credential) = self { credential } else { nil } }
}

/// A challenge of a server or proxy about credentials or certificates, in a form that tests can make.
struct SessionChallenge: Sendable {
    /// The `authenticationMethod` of the protection space.
    var method: String
    var isFromProxy = false
    /// The response that asks for credentials, if one does.
    var failureResponse: URLResponse?
    /// Returns true if the server's certificate has one of the public keys.
    var hasKey: @Sendable ([String]) -> Bool = { _ in false }
    /// Returns true if one of the authorities has signed the server's certificate.
    var isSigned: @Sendable (Certificates) -> Bool = { _ in false }
    /// The credential that accepts the server's certificate.
    var acceptance: @Sendable () -> URLCredential? = { nil }
    /// Reads a client's identity.
    var credential: @Sendable (ClientIdentity) throws -> URLCredential = { _ in throw UnreadableIdentity(status: 0) }
    /// The application's closure about certificates, if there is one.
    var decide: (@Sendable () -> ChallengeAnswer)?
}

extension SessionChallenge {
    /// Converts a challenge.
    /// - Parameters:
    ///   - challenge: URLSession's challenge.
    ///   - answer: The application's closure about certificates.
    init(_ challenge: URLAuthenticationChallenge, _ answer: TrustAnswer) {
        #if canImport(FoundationNetworking)
        // Foundation on Linux only has challenges for a password.
        self.init(method: "", failureResponse: challenge.failureResponse)
        #else
        self.init(
            method: challenge.protectionSpace.authenticationMethod, isFromProxy: challenge.protectionSpace.isProxy(),
            failureResponse: challenge.failureResponse)
        if let answer { decide = { answer(challenge) } }
        #endif
        #if canImport(Security)
        hasKey = { PublicKeyHash.isKey(of: challenge.protectionSpace.serverTrust, in: $0) }
        isSigned = { authorities in challenge.protectionSpace.serverTrust.map(authorities.haveSigned) ?? false }
        acceptance = { challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) } }
        credential = { try $0.credential() }
        #endif
    }
}

/// The error of a client identity that the system cannot read.
struct UnreadableIdentity: Error, CustomStringConvertible {
    /// The `OSStatus` of `SecPKCS12Import`; 0 if it succeeded, and found no identity.
    let status: Int32

    var description: String {
        switch status {
        case 0: "the client identity can't be read: the PKCS #12 file contains no certificate with a key"
        // errSecAuthFailed and errSecPkcs12VerifyFailure. An unknown encryption causes them as well.
        case -25_293, -25_264:
            "the client identity can't be read (OSStatus \(status)): the password is wrong, or the system does not know the file's encryption. "
                + "OpenSSL 3 makes a file that it knows with `-keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1`"
        default: "the client identity can't be read (OSStatus \(status))"
        }
    }
}
