import Foundation
import NessHTTP

/// The server's TLS configuration with its certificate. All connections share it.
final class TLSContext: @unchecked Sendable {
    // `@unchecked`: several threads may use an OpenSSL context once it is set up.
    fileprivate let context: OpaquePointer
    fileprivate let library: OpenSSL

    /// Makes a configuration.
    /// - Parameters:
    ///   - certificate: The server's certificate.
    ///   - authority: The authority of the certificates that clients must have; `nil` if they need none.
    ///   - version: The newest version of TLS; `nil` for OpenSSL's.
    init(_ certificate: TestCertificate, clientAuthority authority: TestAuthority?, maximumVersion version: TLSVersion?) throws {
        library = try OpenSSL.load()
        guard let context = library.newContext(library.serverMethod()) else {
            throw TestServerError(operation: "SSL_CTX_new", code: ENOMEM)
        }
        self.context = context
        guard library.useCertificate(context, certificate.certificate) == 1, library.usePrivateKey(context, certificate.key) == 1 else {
            throw TestServerError(operation: "SSL_CTX_use_certificate", code: EINVAL)
        }
        if let authority {
            guard library.trust(library.trustedCertificates(context), authority.root.certificate) == 1,
                library.setSessionContext(context, "ness", 4) == 1
            else { throw TestServerError(operation: "X509_STORE_add_cert", code: EINVAL) }
            library.setVerification(context, OpenSSL.requiresCertificate, nil)
        }
        if let version {
            let number = [TLSVersion.v1_0: 0x301, .v1_1: 0x302, .v1_2: 0x303, .v1_3: 0x304][version] ?? 0
            guard library.control(context, OpenSSL.maximumVersion, number, nil) == 1 else {
                throw TestServerError(operation: "SSL_CTX_set_max_proto_version", code: EINVAL)
            }
        }
    }

    deinit { library.freeContext(context) }
}

/// The TLS of one connection, which reads from memory and writes to memory. It does no input or output itself, so the caller's waits can
/// also end when the server stops. Only the connection's own thread uses it.
final class TLSSession {
    /// The result of a step.
    enum Outcome: Equatable {
        /// The number of bytes that were read or written.
        case done(Int)
        /// The step needs more bytes from the peer.
        case needsInput
        /// The peer has ended its sending.
        case closed
        /// The peer breaks the protocol, or rejects the certificate.
        case failed
    }

    private let context: TLSContext
    private let library: OpenSSL
    private let session: OpaquePointer
    // The session owns both.
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// Makes a session. The first read or write starts the handshake.
    init?(_ context: TLSContext) {
        self.context = context
        library = context.library
        guard let session = library.newSession(context.context) else { return nil }
        guard let input = library.newBIO(library.memoryMethod()), let output = library.newBIO(library.memoryMethod()) else {
            library.freeSession(session)
            return nil
        }
        (self.session, self.input, self.output) = (session, input, output)
        library.setBIOs(session, input, output)
        library.setAcceptState(session)
    }

    deinit { library.freeSession(session) }

    /// Takes encrypted bytes that have arrived from the peer.
    func feed(_ bytes: UnsafeRawBufferPointer) { _ = library.writeBIO(input, bytes.baseAddress, Int32(bytes.count)) }

    /// Returns the encrypted bytes to send to the peer; empty if there are none.
    func takeOutput() -> [UInt8] {
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 20 << 10)
        while case let count = library.readBIO(output, &buffer, Int32(buffer.count)), count > 0 { result += buffer.prefix(Int(count)) }
        return result
    }

    /// Decrypts bytes from the peer.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        library.clearErrors()
        return outcome(library.read(session, buffer.baseAddress, Int32(clamping: buffer.count)))
    }

    /// Encrypts bytes for the peer. After `needsInput` the caller has to call it again with the same bytes.
    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        library.clearErrors()
        return outcome(library.write(session, bytes.baseAddress, Int32(clamping: bytes.count)))
    }

    private func outcome(_ result: Int32) -> Outcome {
        if result > 0 { return .done(Int(result)) }
        switch library.error(session, result) {
        case OpenSSL.wantsRead: return .needsInput
        case OpenSSL.isClosed: return .closed
        default: return .failed
        }
    }

    /// Makes the closure alert, if the handshake is over.
    func close() {
        guard library.isHandshakeDone(session) == 1 else { return }
        library.clearErrors()
        _ = library.shutDown(session)
    }
}
