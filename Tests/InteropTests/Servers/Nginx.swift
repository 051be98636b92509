#if os(Linux)
import Foundation
import NessTesting

/// An nginx with files, WebDAV, redirects and a proxy to `Node`, over HTTP/1.1 and, with TLS, HTTP/2. Further ports have certificates that
/// a client must refuse.
struct Nginx: WebServer {
    /// A port of its own for each way to be reached.
    enum Entrance: String, CaseIterable, Sendable {
        case plain
        case secure
        case expired
        case wrongHost
        case untrusted
        case oldProtocol
        case clientCertificate
    }

    let root: URL
    let process: ServerProcess
    let entrances: Entrances<Entrance>

    static func start(in folder: URL) async throws -> Nginx {
        let root = folder.appending(path: "www"), node = try await Servers.get(Node.self)
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let entrances = try Entrances<Entrance>()
        try writeCertificates(to: folder)
        let configuration = configuration(folder, root, entrances, originPort: node.port)
        let file = folder.appending(path: "nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let arguments = ["-p", folder.path, "-c", file.path, "-e", "stderr"]
        return Nginx(root: root, process: try await .start(.nginx, arguments, in: folder, ready: Self.worker), entrances: entrances)
    }

    private static func writeCertificates(to folder: URL) throws {
        let authority = try Certificates.authority.get()
        let hour = Duration.seconds(3_600)
        let certificates = [
            Entrance.secure: try authority.certificate(),
            .expired: try authority.certificate(validFrom: .zero - hour * 2, until: .zero - hour),
            .wrongHost: try authority.certificate(for: ["elsewhere.test"]),
            .untrusted: try TestAuthority(name: "Nobody's").certificate(),
        ]
        for (entrance, certificate) in certificates {
            try Certificates.write(certificate, to: folder.appending(path: "\(entrance.rawValue).pem"))
        }
        try authority.pem.write(to: folder.appending(path: "authority.pem"), atomically: true, encoding: .utf8)
    }

    private static func configuration(_ folder: URL, _ root: URL, _ entrances: Entrances<Entrance>, originPort: Int) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.path)/\($0);" }
        let redirects = [301, 302, 303, 307, 308].map {
            "location = /moved/\($0) { return \($0) http://127.0.0.1:\(originPort)/digest; }"
        }
        let locations = """
            location / { root \(root.path); dav_methods PUT DELETE; }
            location /slow/ { alias \(root.path)/; limit_rate_after 2m; limit_rate 1k; }
            location /origin/ { proxy_pass http://origin/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
            \(redirects.joined(separator: " "))
            """
        func listen(_ entrance: Entrance) -> String { "listen \(entrances[entrance])" }
        let secured = Entrance.allCases.dropFirst().map { entrance in
            let certificate = [.oldProtocol, .clientCertificate].contains(entrance) ? Entrance.secure : entrance
            let options =
                switch entrance {
                case .oldProtocol: "ssl_protocols TLSv1 TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;"
                case .clientCertificate: "ssl_verify_client on; ssl_client_certificate \(folder.path)/authority.pem;"
                default: ""
                }
            let file = "\(folder.path)/\(certificate.rawValue).pem"
            return "server { \(listen(entrance)) ssl http2; ssl_certificate \(file); ssl_certificate_key \(file); \(options) \(locations) }"
        }
        // As root, the workers keep its rights: the files may lie where no other user can read.
        return """
            \(geteuid() == 0 ? "user root;" : "") daemon off; worker_processes 2; pid \(folder.path)/pid; error_log stderr notice;
            events { worker_connections 512; }
            http {
                access_log off; client_max_body_size 200m; default_type application/octet-stream; \(temporary.joined(separator: " "))
                upstream origin { server 127.0.0.1:\(originPort); keepalive 8; }
                server { \(listen(.plain)); \(locations) }
                \(secured.joined(separator: "\n"))
            }
            """
    }

    func at(_ path: String) -> String { "http://\(entrances[.plain])\(path)" }

    func securely(at path: String) -> String { at(path, .secure) }

    /// A URL of an entrance with TLS.
    func at(_ path: String, _ entrance: Entrance) -> String { "https://\(entrances[entrance])\(path)" }

    /// Reads the configuration anew: new workers accept connections, and the old ones end when their requests have. Returns when the first
    /// new worker has started.
    func reload() async throws { try await process.signal(SIGHUP, until: Self.worker) }

    private static let worker = "start worker process "
}
#endif
