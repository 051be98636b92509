#if os(Linux)
import CNessCurl

/// The callbacks of libcurl.
enum CurlCallbacks {
    private static func transfer(_ user: UnsafeMutableRawPointer?) -> CurlTransfer? {
        user.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func bytes(_ start: UnsafeMutablePointer<CChar>?, _ count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: UnsafeRawPointer(start)?.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// Sets the callbacks of a handle. Their `user` pointer is that of a `CurlTransfer`.
    static func set(for handle: CurlHandle) throws {
        _ = isRegistered
        try CurlError.check(ness_curl_set_callbacks(handle.pointer))
    }

    /// Registers the callbacks, at the first use.
    private static let isRegistered: Bool = {
        var callbacks = ness_curl_callbacks(
            head: { start, size, count, user in
                CurlCallbacks.transfer(user)?.received(headLine: CurlCallbacks.bytes(start, size * count)) == true ? size * count : 0
            },
            body: { start, size, count, user in CurlCallbacks.transfer(user)?.received(CurlCallbacks.bytes(start, size * count)) ?? 0 },
            read: { start, size, count, user in
                CurlCallbacks.transfer(user)?.read(into: UnsafeMutableRawBufferPointer(start: start, count: size * count))
                    ?? Int(NESS_CURL_READ_ABORT)
            },
            seek: { user, offset, origin in origin == 0 && CurlCallbacks.transfer(user)?.rewind(to: offset) == true ? 0 : 1 },
            progress: { user, _, _, _, sent in
                guard let transfer = CurlCallbacks.transfer(user) else { return 0 }
                transfer.moved(sent: sent)
                return transfer.mayContinue() ? 0 : 1
            },
            prerequest: { user, remoteAddress, _, remotePort, localPort in
                let ends = remoteAddress.map { address in
                    CurlConnections.Ends(
                        localPort: UInt16(truncatingIfNeeded: localPort), remoteAddress: String(cString: address),
                        remotePort: UInt16(truncatingIfNeeded: remotePort))
                }
                return CurlCallbacks.transfer(user)?.maySend(on: ends) == true ? 0 : 1
            },
            look_up: { _, _, user in CurlCallbacks.transfer(user)?.mayLookUp() == true ? 0 : 1 },
            may_connect: { user, bytes, count in
                CurlCallbacks.transfer(user)?.mayConnect(to: UnsafeBufferPointer(start: bytes, count: count)) ?? false
            },
            socket_opened: { user, descriptor in CurlCallbacks.transfer(user)?.mayOpen(descriptor) ?? false },
            noted: { user, note in CurlCallbacks.transfer(user)?.received(logNote: Int(note)) })
        ness_curl_register(&callbacks)
        return true
    }()
}
#endif
