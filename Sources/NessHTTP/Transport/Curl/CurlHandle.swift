#if os(Linux)
import CNessCurl
import Foundation

/// An easy handle of libcurl, with the memory that it points to. Only the engine's thread uses it.
///
/// A handle serves one transfer after another, if this libcurl permits it. A `CurlLastingOption` is set once, before the first transfer.
/// Only a `CurlOption` may be set between transfers.
final class CurlHandle {
    /// libcurl's pointer.
    let pointer: UnsafeMutableRawPointer
    /// True if the handle has an option that other transfers of its shape do not set. It is then not reused.
    var isAltered = false
    /// libcurl's message for the latest error. libcurl keeps the address until the handle is released.
    private let errorBuffer: UnsafeMutablePointer<CChar>
    /// The lists that libcurl reads during the transfer.
    private var headerList: UnsafeMutableRawPointer?
    private var addressList: UnsafeMutableRawPointer?
    /// The memory of TLS sessions, which has to outlive libcurl's handle.
    private var sessions: CurlSessions?

    /// Takes libcurl's pointer, which this object releases. Fails if it is `nil`.
    init?(_ pointer: UnsafeMutableRawPointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
        errorBuffer = .allocate(capacity: 256)
        guard (try? set(CurlLastingOption.errorBuffer.number, errorBuffer)) != nil else { return nil }
    }

    deinit {
        // libcurl may call callbacks while it releases a handle, and its last transfer may be gone.
        _ = ness_curl_set_user(pointer, nil)
        ness_curl_easy_cleanup(pointer)
        errorBuffer.deallocate()
        if let headerList { ness_curl_list_free(headerList) }
        if let addressList { ness_curl_list_free(addressList) }
    }

    /// Makes a handle that has no options.
    static func make() -> CurlHandle? { CurlHandle(ness_curl_easy_init()) }

    /// Makes a handle with the same options. Call this before the first transfer.
    func copy() -> CurlHandle? { CurlHandle(ness_curl_easy_copy(pointer)) }

    /// Prepares a transfer, whose callbacks receive the pointer.
    func begin(_ user: UnsafeMutableRawPointer) throws {
        errorBuffer.pointee = 0
        try CurlError.check(ness_curl_set_user(pointer, user))
    }

    /// libcurl's text for the error of the transfer. Empty if libcurl gave no text.
    var errorText: String { String(cString: errorBuffer) }

    // MARK: options

    func set(_ option: CurlOption, _ value: Int) throws { try set(option.number, value) }
    func set(_ option: CurlOption, _ text: String) throws { try set(option.number, text) }
    func set(_ option: CurlOption, _ bytes: UnsafeRawPointer?) throws { try set(option.number, bytes) }

    func set(_ option: CurlOption, offset: Int64) throws {
        try CurlError.check(ness_curl_set_offset(pointer, option.number, offset), option.number)
    }

    func setOnce(_ option: CurlLastingOption, _ value: Int) throws { try set(option.number, value) }
    func setOnce(_ option: CurlLastingOption, _ text: String) throws { try set(option.number, text) }

    func setOnce(_ option: CurlLastingOption, _ bytes: Data) throws {
        let code = bytes.withUnsafeBytes { ness_curl_set_blob(pointer, option.number, $0.baseAddress, $0.count) }
        try CurlError.check(code, option.number)
    }

    private func set(_ option: Int32, _ value: Int) throws { try CurlError.check(ness_curl_set_long(pointer, option, value), option) }

    private func set(_ option: Int32, _ bytes: UnsafeRawPointer?) throws {
        try CurlError.check(ness_curl_set_pointer(pointer, option, bytes), option)
    }

    private func set(_ option: Int32, _ text: String) throws {
        // With `withCString`, a native string is not copied.
        try CurlError.check(text.withCString { ness_curl_set_text(pointer, option, $0) }, option)
    }

    /// Has the handle share TLS sessions. Call this before the first transfer.
    func join(_ sessions: CurlSessions) throws {
        self.sessions = sessions
        try set(CurlLastingOption.sessions.number, sessions.pointer)
    }

    /// Sets the header fields, in place of those of an earlier send. Each line ends with a zero byte.
    func setHeaders(_ lines: String) throws { try set(.headers, lines, in: &headerList) }

    /// Sets addresses of names. Each line ends with a zero byte.
    func setAddresses(_ lines: String) throws { try set(.hostEntries, lines, in: &addressList) }

    private func set(_ option: CurlOption, _ lines: String, in place: inout UnsafeMutableRawPointer?) throws {
        guard let list = CurlHeaderLines.list(lines) else { throw TransportError(.cannotConnect, "libcurl has no memory") }
        do {
            try set(option, list)
        } catch {
            ness_curl_list_free(list)
            throw error
        }
        if let place { ness_curl_list_free(place) }
        place = list
    }
}
#endif
