#if os(Linux)
import CNessCurl
import Foundation

extension CurlTransfer {
    /// The largest body that libcurl receives in one piece, in bytes.
    static let inMemoryLimit = 32 << 10

    /// Describes the request to libcurl. The handle has the options that all exchanges share.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    func configure() throws {
        let request = exchange.request
        try handle.begin(Unmanaged.passUnretained(self).toOpaque())
        try handle.set(.url, exchange.url)
        // A proxy for http gets the whole URL in place of this.
        if let target = exchange.target, exchange.isSecure || loop.settings.proxyName(for: "http") == nil {
            try handle.set(.requestTarget, target)
        }
        if exchange.kind(loop.settings) == .multiplexed {
            waitsForHTTP2 = !loop.http1Origins.contains(exchange.origin)
            try handle.set(.waitsForMultiplexing, waitsForHTTP2 ? 1 : 0)
        }
        if request.needsYoungConnection {
            // An idle connection may be dead.
            let limit = loop.settings.maximumIdleSecondsForWrites
            // For libcurl, 0 means its default of 118 seconds.
            try limit > 0 ? handle.set(.maximumIdleSeconds, limit) : handle.set(.freshConnection, 1)
        }
        addressCheck = try loop.settings.addressCheck(for: exchange.origin, on: handle)
        try setConnectTimeout()
        if let limit = request[ExpectsContinue.self] { try handle.set(.continueMilliseconds, Self.milliseconds(limit)) }
        try place(request.body, of: request.method)
        try handle.setHeaders(exchange.headerLines)
    }

    /// Sets the connect timeout, which libcurl divides among a host's addresses. The pipeline enforces the timeout itself. Without one, the
    /// value is large, because libcurl's default is 300 seconds.
    func setConnectTimeout() throws {
        let rest = exchange.control?.connectTimeout.map { $0 - names.duration }
        try handle.set(.connectMilliseconds, Self.milliseconds(rest ?? .seconds(Int32.max)))
    }

    /// The number of milliseconds in a duration, in the range that libcurl takes.
    private static func milliseconds(_ duration: Duration) -> Int { Int(min(max(1, duration / .milliseconds(1)), 0x4000_0000)) }

    private func place(_ body: HTTPBody?, of method: HTTPMethod) throws {
        if method == .head {
            try handle.set(.isHead, 1)
        } else if let body {
            guard body.isResolved else { throw TransportError(.invalidRequest, "the body was not resolved before it was sent") }
            if let data = body.data, data.count <= Self.inMemoryLimit {
                try place(data)
            } else {
                try handle.set(.isUpload, 1)
                // Without a length, libcurl sends the body in chunks over HTTP/1.1.
                if let length = body.length { try handle.set(.uploadLength, offset: length) }
            }
        } else if [.post, .put, .patch].contains(method) {
            // This makes libcurl announce an empty body (RFC 9110, 8.6).
            try place(Data())
        }
        // With a body, libcurl would turn a GET into a POST.
        if method != .head, method != .get || body != nil { try handle.set(.method, method.rawValue) }
    }

    private func place(_ data: Data) throws {
        try handle.set(.bodyLength, offset: Int64(data.count))
        // For an empty body, any pointer will do, because it is never read. With a null pointer, libcurl would ask for a body.
        try (data.isEmpty ? Data([0]) : data).withUnsafeBytes { try handle.set(.copiedBody, $0.baseAddress) }
    }
}
#endif
