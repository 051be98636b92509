import Foundation

/// The server's side of TLS on its connections: a certificate, ready to be shown.
final class TLSContext: @unchecked Sendable {
    // `@unchecked`: OpenSSL's context may be used by several threads once it is set up.
    fileprivate let context: OpaquePointer
    fileprivate let library: OpenSSL

    init(_ certificate: TestCertificate) throws {
        library = try OpenSSL.load()
        guard let context = library.newContext(library.serverMethod()) else {
            throw TestServerError(operation: "SSL_CTX_new", code: ENOMEM)
        }
        self.context = context
        guard library.useCertificate(context, certificate.certificate) == 1, library.usePrivateKey(context, certificate.key) == 1 else {
            throw TestServerError(operation: "SSL_CTX_use_certificate", code: EINVAL)
        }
    }

    deinit { library.freeContext(context) }
}

/// The TLS of one connection, between two pieces of memory: it does no input or output itself, so that whoever does can wait for the server
/// to stop, too. For the connection's own thread only.
final class TLSSession {
    /// The result of a step.
    enum Outcome: Equatable {
        /// So many bytes were read or written.
        case done(Int)
        /// The step needs more bytes from the peer.
        case needsInput
        /// The peer has said that it sends no more.
        case closed
        /// The peer does not keep to the protocol, or refuses the certificate.
        case failed
    }

    private let context: TLSContext
    private let library: OpenSSL
    private let session: OpaquePointer
    // The session owns both.
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// Makes a session that has not begun its handshake. The first read or write does that.
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

    /// Takes what has come from the peer.
    func feed(_ bytes: UnsafeRawBufferPointer) { _ = library.writeBIO(input, bytes.baseAddress, Int32(bytes.count)) }

    /// What is to go to the peer; empty if there is nothing.
    func takeOutput() -> [UInt8] {
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 20 << 10)
        while case let count = library.readBIO(output, &buffer, Int32(buffer.count)), count > 0 { result += buffer.prefix(Int(count)) }
        return result
    }

    /// Reads what the peer has said.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        library.clearErrors()
        return outcome(library.read(session, buffer.baseAddress, Int32(clamping: buffer.count)))
    }

    /// Encrypts what is to be said. After `needsInput` it has to be called again with the same bytes.
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

    /// Says that no more comes, if the handshake is over.
    func close() {
        guard library.isHandshakeDone(session) == 1 else { return }
        library.clearErrors()
        _ = library.shutDown(session)
    }
}
