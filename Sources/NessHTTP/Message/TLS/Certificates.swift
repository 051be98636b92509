import Foundation

/// X.509 certificates, such as those of a company's authorities.
///
/// ```swift
/// let file = URL(filePath: "/etc/company/ca.pem")
/// let company = try Certificates(pem: Data(contentsOf: file))
/// let ness = Ness {
///     $0.serverTrust = .pinned(["*.company.example": .authorities(company)])
/// }
/// ```
public struct Certificates: Sendable, Hashable {
    /// The certificates in DER (RFC 5280, section 4.1), at least one.
    public let der: [Data]
    /// The certificates in the text form of RFC 7468. Made once, because libcurl gets it for each connection.
    let pem: Data

    /// Reads certificates in the text form of RFC 7468: `-----BEGIN CERTIFICATE-----`. Text outside of them is ignored.
    /// - Parameter pem: The text as bytes.
    /// - Throws: An error that says why the text cannot be read: it has no certificate, or one is not valid.
    public init(pem: Data) throws {
        var certificates: [Data] = []
        var lines: [Substring]?
        for line in String(decoding: pem, as: UTF8.self).split(whereSeparator: \.isNewline) {
            switch line.trimmingCharacters(in: .whitespaces) {
            case "-----BEGIN CERTIFICATE-----":
                guard lines == nil else { throw CertificateError("certificate \(certificates.count + 1) has no END line") }
                lines = []
            case "-----END CERTIFICATE-----":
                guard let text = lines?.joined() else { throw CertificateError("unexpected END line") }
                guard let der = Data(base64Encoded: text, options: .ignoreUnknownCharacters), PublicKeyHash.make(certificate: der) != nil
                else { throw CertificateError("certificate \(certificates.count + 1) is not valid") }
                certificates.append(der)
                lines = nil
            default: lines?.append(line)
            }
        }
        guard lines == nil else { throw CertificateError("the last one has no END line") }
        guard !certificates.isEmpty else { throw CertificateError("no certificate was found") }
        der = certificates
        let texts = certificates.map { certificate in
            "-----BEGIN CERTIFICATE-----\n\(certificate.base64EncodedString(options: .lineLength64Characters))\n-----END CERTIFICATE-----\n"
        }
        self.pem = Data(texts.joined().utf8)
    }
}

/// The error of certificates, or of a key, that cannot be read.
package struct CertificateError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, in English.
    package let description: String

    init(_ reason: String, in part: String = "certificates") { description = "the \(part) can't be read: \(reason)" }
}
