#if os(Linux)
import Foundation
import NessTesting

/// An Apache httpd with files, WebDAV, redirects and a proxy to `Node`, over HTTP/1.1 and, with TLS, HTTP/2.
struct Apache: WebServer {
    /// A port of its own for each way to be reached.
    enum Entrance: String, CaseIterable, Sendable {
        case plain
        case secure
        case clientCertificate
    }

    let root: URL
    let process: ServerProcess
    let entrances: Entrances<Entrance>

    static func start(in folder: URL) async throws -> Apache {
        let root = folder.appending(path: "www"), node = try await Servers.get(Node.self)
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let entrances = try Entrances<Entrance>()
        let authority = try Certificates.authority.get()
        try Certificates.write(authority.certificate(), to: folder.appending(path: "pem"))
        try authority.pem.write(to: folder.appending(path: "authority.pem"), atomically: true, encoding: .utf8)
        // Apache's workers give up the rights of root, and store what is put.
        if geteuid() == 0 { for url in [folder, root] { chmod(url.path, 0o777) } }
        let file = folder.appending(path: "httpd.conf")
        try configuration(folder, root, entrances, originPort: node.port).write(to: file, atomically: true, encoding: .utf8)
        let arguments = ["-d", folder.path, "-f", file.path, "-DFOREGROUND"]
        return Apache(root: root, process: try await .start(.apache, arguments, in: folder, ready: Self.resumed), entrances: entrances)
    }

    private static func configuration(_ folder: URL, _ root: URL, _ entrances: Entrances<Entrance>, originPort: Int) -> String {
        let modules = [
            "mpm_event", "authz_core", "alias", "dav", "dav_fs", "ssl", "http2", "mime", "proxy", "proxy_http", "env", "ratelimit",
        ]
        let loads = modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        let tls = "SSLEngine on\nSSLCertificateFile pem\nProtocols h2 http/1.1"
        let redirects = [301, 302, 303, 307, 308].map { "Redirect \($0) /moved/\($0) http://127.0.0.1:\(originPort)/digest" }
        return """
            \(loads.joined(separator: "\n"))
            ServerName localhost
            PidFile pid
            TypesConfig /dev/null
            DefaultRuntimeDir \(folder.path)
            \(geteuid() == 0 ? "User www-data\nGroup www-data" : "")
            \(Entrance.allCases.map { "Listen \(entrances[$0])" }.joined(separator: "\n"))
            ErrorLog /dev/stderr
            LogLevel notice
            StartServers 2
            ServerLimit 4
            ThreadsPerChild 25
            MaxRequestWorkers 100
            GracefulShutdownTimeout 5
            DocumentRoot \(root.path)
            DavLockDB davlock
            \(redirects.joined(separator: "\n"))
            ProxyPass /origin/ http://127.0.0.1:\(originPort)/
            Alias /slow/ \(root.path)/
            <Location /slow/>
                SetOutputFilter RATE_LIMIT
                SetEnv rate-limit 1
                SetEnv rate-initial-burst 2048
            </Location>
            <Directory \(root.path)>
                Require all granted
                Dav On
            </Directory>
            <VirtualHost \(entrances[.secure])>
                \(tls)
            </VirtualHost>
            <VirtualHost \(entrances[.clientCertificate])>
                \(tls)
                SSLCACertificateFile authority.pem
                SSLVerifyClient require
            </VirtualHost>
            """
    }

    func at(_ path: String) -> String { "http://\(entrances[.plain])\(path)" }

    func securely(at path: String) -> String { at(path, .secure) }

    /// A URL of an entrance with TLS.
    func at(_ path: String, _ entrance: Entrance) -> String { "https://\(entrances[entrance])\(path)" }

    /// Reads the configuration anew, and replaces the processes as their requests end (`apachectl graceful`). Returns when new connections
    /// meet the new configuration.
    func reload() async throws { try await process.signal(SIGUSR1, until: Self.resumed) }

    private static let resumed = "resuming normal operations"
}
#endif
