import Foundation

/// The functions of OpenSSL 3 that the TLS of a `TestServer` needs. They are looked up at run time, so the package links no library for
/// tests.
///
/// OpenSSL's manual explains each function under the name that `init` looks up.
struct OpenSSL: Sendable {
    typealias Free = @convention(c) (OpaquePointer?) -> Void
    typealias Make = @convention(c) () -> OpaquePointer?
    typealias Get = @convention(c) (OpaquePointer?) -> OpaquePointer?
    typealias Ask = @convention(c) (OpaquePointer?) -> Int32
    typealias SetObject = @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
    typealias SetLong = @convention(c) (OpaquePointer?, Int) -> Int32
    typealias Read = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int32) -> Int32
    typealias Write = @convention(c) (OpaquePointer?, UnsafeRawPointer?, Int32) -> Int32

    // Keys.
    let newKeyContext: @convention(c) (Int32, OpaquePointer?) -> OpaquePointer?
    let freeKeyContext: Free
    let beginKeyGeneration: Ask
    let setCurve: @convention(c) (OpaquePointer?, Int32) -> Int32
    let generateKey: @convention(c) (OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>) -> Int32
    let freeKey: Free
    let sha256: Make

    // Certificates.
    let newCertificate: Make
    let freeCertificate: Free
    let setVersion: SetLong
    let serialNumber: Get
    let setInteger: SetLong
    let notBefore: Get
    let notAfter: Get
    let setTimeFromNow: @convention(c) (OpaquePointer?, Int) -> OpaquePointer?
    let subjectName: Get
    let addToName: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, Int32, Int32, Int32) -> Int32
    let setIssuerName: SetObject
    let setPublicKey: SetObject
    let newExtension: @convention(c) (OpaquePointer?, OpaquePointer?, Int32, UnsafePointer<CChar>) -> OpaquePointer?
    let addExtension: @convention(c) (OpaquePointer?, OpaquePointer?, Int32) -> Int32
    let freeExtension: Free
    let sign: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32
    let writePEM: SetObject
    let writeKeyPEM:
        @convention(c) (
            OpaquePointer?, OpaquePointer?, OpaquePointer?, UnsafePointer<CChar>?, Int32, OpaquePointer?, UnsafeRawPointer?
        ) -> Int32
    let aes256: Make
    let encodePublicKey: @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32

    // A memory buffer that is read and written like a file.
    let memoryMethod: Make
    let newBIO: Get
    let freeBIO: Ask
    let newPKCS12:
        @convention(c) (
            UnsafePointer<CChar>?, UnsafePointer<CChar>?, OpaquePointer?, OpaquePointer?, OpaquePointer?, Int32, Int32, Int32, Int32, Int32
        ) -> OpaquePointer?
    let writePKCS12: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
    let freePKCS12: @convention(c) (OpaquePointer?) -> Void
    let readBIO: Read
    let writeBIO: Write

    // TLS.
    let serverMethod: Make
    let newContext: Get
    let freeContext: Free
    let useCertificate: SetObject
    let usePrivateKey: SetObject
    let setVerification: @convention(c) (OpaquePointer?, Int32, OpaquePointer?) -> Void
    let setSessionContext: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, UInt32) -> Int32
    let trustedCertificates: Get
    let trust: SetObject
    let control: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let newSession: Get
    let freeSession: Free
    let setBIOs: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Void
    let setAcceptState: Free
    let isHandshakeDone: Ask
    let read: Read
    let write: Write
    let error: @convention(c) (OpaquePointer?, Int32) -> Int32
    let shutDown: Ask
    let clearErrors: @convention(c) () -> Void

    // Constants from OpenSSL's headers.
    static let ecKey: Int32 = 408
    static let curveP256: Int32 = 415
    static let ascii: Int32 = 0x1001
    static let subjectAltName: Int32 = 85
    static let basicConstraints: Int32 = 87
    static let sha1And3DES: Int32 = 146
    static let wantsRead: Int32 = 2
    static let isClosed: Int32 = 6
    static let requiresCertificate: Int32 = 3
    static let maximumVersion: Int32 = 124

    /// Loads the library: see `TestAuthority` for the places where it is searched.
    /// - Throws: `TestServerError` if the library is missing or older.
    static func load() throws -> OpenSSL { try loaded.get() }

    private static let loaded = Result<OpenSSL, any Error> {
        #if canImport(Darwin)
        #if targetEnvironment(simulator)
        // Homebrew's libraries are the Mac's. A simulator cannot load them.
        let names: [String] = []
        #else
        // dyld finds no library of Homebrew by its name alone.
        let folders = ["/opt/homebrew/opt/openssl@3/lib", "/usr/local/opt/openssl@3/lib", "/opt/local/libexec/openssl3/lib"]
        let names = folders.map { "\($0)/libssl.3.dylib" }
        #endif
        #else
        // Prefers a library that the process has already loaded for libcurl. With a second one, inner calls would reach the first and
        // crash. On Apple platforms the process may have BoringSSL, which has functions of the same names and another layout.
        if let process = dlopen(nil, RTLD_NOW), dlsym(process, "SSL_get1_peer_certificate") != nil { return try OpenSSL(process) }
        let names = ["libssl.so.3"]
        #endif
        for name in [ProcessInfo.processInfo.environment[variable]].compactMap(\.self) + names {
            if let library = dlopen(name, RTLD_NOW) { return try OpenSSL(library) }
        }
        throw TestServerError(operation: "find OpenSSL 3 (set \(variable) to the path of its libssl)", code: ENOENT)
    }

    /// The environment variable with the path of the library.
    private static let variable = "NESS_OPENSSL"

    private init(_ library: UnsafeMutableRawPointer) throws {
        func find<Function>(_ name: String) throws -> Function {
            guard let symbol = dlsym(library, name) else { throw TestServerError(operation: "dlsym \(name)", code: ENOENT) }
            return unsafeBitCast(symbol, to: Function.self)
        }
        newKeyContext = try find("EVP_PKEY_CTX_new_id")
        freeKeyContext = try find("EVP_PKEY_CTX_free")
        beginKeyGeneration = try find("EVP_PKEY_keygen_init")
        setCurve = try find("EVP_PKEY_CTX_set_ec_paramgen_curve_nid")
        generateKey = try find("EVP_PKEY_keygen")
        freeKey = try find("EVP_PKEY_free")
        sha256 = try find("EVP_sha256")
        newCertificate = try find("X509_new")
        freeCertificate = try find("X509_free")
        setVersion = try find("X509_set_version")
        serialNumber = try find("X509_get_serialNumber")
        setInteger = try find("ASN1_INTEGER_set")
        notBefore = try find("X509_getm_notBefore")
        notAfter = try find("X509_getm_notAfter")
        setTimeFromNow = try find("X509_gmtime_adj")
        subjectName = try find("X509_get_subject_name")
        addToName = try find("X509_NAME_add_entry_by_txt")
        setIssuerName = try find("X509_set_issuer_name")
        setPublicKey = try find("X509_set_pubkey")
        newExtension = try find("X509V3_EXT_conf_nid")
        addExtension = try find("X509_add_ext")
        freeExtension = try find("X509_EXTENSION_free")
        sign = try find("X509_sign")
        writePEM = try find("PEM_write_bio_X509")
        writeKeyPEM = try find("PEM_write_bio_PKCS8PrivateKey")
        aes256 = try find("EVP_aes_256_cbc")
        encodePublicKey = try find("i2d_PUBKEY")
        memoryMethod = try find("BIO_s_mem")
        newBIO = try find("BIO_new")
        freeBIO = try find("BIO_free")
        newPKCS12 = try find("PKCS12_create")
        writePKCS12 = try find("i2d_PKCS12_bio")
        freePKCS12 = try find("PKCS12_free")
        readBIO = try find("BIO_read")
        writeBIO = try find("BIO_write")
        serverMethod = try find("TLS_server_method")
        newContext = try find("SSL_CTX_new")
        freeContext = try find("SSL_CTX_free")
        useCertificate = try find("SSL_CTX_use_certificate")
        usePrivateKey = try find("SSL_CTX_use_PrivateKey")
        setVerification = try find("SSL_CTX_set_verify")
        setSessionContext = try find("SSL_CTX_set_session_id_context")
        trustedCertificates = try find("SSL_CTX_get_cert_store")
        trust = try find("X509_STORE_add_cert")
        control = try find("SSL_CTX_ctrl")
        newSession = try find("SSL_new")
        freeSession = try find("SSL_free")
        setBIOs = try find("SSL_set_bio")
        setAcceptState = try find("SSL_set_accept_state")
        isHandshakeDone = try find("SSL_is_init_finished")
        read = try find("SSL_read")
        write = try find("SSL_write")
        error = try find("SSL_get_error")
        shutDown = try find("SSL_shutdown")
        clearErrors = try find("ERR_clear_error")
    }
}
