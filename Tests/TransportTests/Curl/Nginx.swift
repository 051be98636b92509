#if os(Linux)
import Foundation
import NessTesting
import TestSupport
import Testing

/// An nginx that speaks HTTP/2 on a unix socket: `/echo` leads to a `TestServer`, `/file` is a file with a trailer after it, and `/session`
/// answers "r" on a connection whose TLS session was resumed, "." on another. `/logged` logs the field X-Id, and closes a connection after
/// 100 requests.
final class Nginx: Sendable {
    /// The path of the program; `nil` where nginx is not installed.
    static let executable: String? = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let socketPath: String
    let publicKeyHash: String
    /// The content of `/file`.
    let file = patternedData(200_000)
    private let folder: URL
    private let process: Child
    /// The values of X-Id in the requests for `/logged`.
    var loggedIDs: [String] {
        get throws {
            try String(contentsOf: folder.appending(path: "log"), encoding: .utf8).split(separator: "\n").map(String.init)
        }
    }

    /// Starts nginx. Returns when it listens.
    static func start(certificate: TestCertificate, forwardingTo port: Int) async throws -> Nginx {
        let nginx = try Nginx(certificate, port)
        // It says which way it waits for events when its sockets are open.
        await nginx.process.lines.wait { lines in lines.contains { $0.contains("event method") || $0.contains("[emerg]") } }
        let failure = nginx.process.lines.entries.first { $0.contains("[emerg]") }
        try #require(failure == nil)
        return nginx
    }

    private init(_ certificate: TestCertificate, _ port: Int) throws {
        // A short path, because a socket's has at most 107 bytes.
        let folder = URL(filePath: "/tmp/ness-\(UUID().uuidString.prefix(8))")
        self.folder = folder
        socketPath = folder.appending(path: "socket").path
        publicKeyHash = try certificate.publicKeyHash()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try (certificate.pem() + certificate.keyPEM()).write(to: folder.appending(path: "pem"), atomically: true, encoding: .utf8)
        try file.write(to: folder.appending(path: "file"))
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.path)/\($0);" }
        let configuration = """
            daemon off; master_process off; pid \(folder.path)/pid; error_log stderr notice;
            events {}
            http {
                log_format ids $http_x_id;
                access_log off; client_max_body_size 100m; \(temporary.joined(separator: " "))
                server {
                    listen unix:\(socketPath) ssl http2;
                    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:sessions:1m;
                    ssl_certificate \(folder.path)/pem; ssl_certificate_key \(folder.path)/pem;
                    location /file { root \(folder.path); add_trailer X-Trailer end; }
                    location /logged { keepalive_requests 100; access_log \(folder.path)/log ids; return 200 $http_x_id; }
                    location /session { return 200 $ssl_session_reused; }
                    location /echo { proxy_pass http://127.0.0.1:\(port); proxy_http_version 1.1; }
                }
            }
            """
        let file = folder.appending(path: "configuration")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        process = try Child(
            ["-p", folder.path, "-c", file.path, "-e", "stderr"], executable: URL(filePath: try #require(Self.executable)))
    }

    /// Ends nginx.
    func stop() {
        process.kill()
        try? FileManager.default.removeItem(at: folder)
    }
}
#endif
