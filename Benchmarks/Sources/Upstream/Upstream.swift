import Foundation
import NessHTTP
import NessTesting

/// A server in a separate process: nginx with one worker where it is installed, otherwise the `TestServer` of this program's child.
public struct Upstream: Sendable {
    /// The server's URL. Every path below `/get` has `bodySize` bytes of JSON, every path below `/page` has `pageSize` bytes with an ETag,
    /// and `/file` has `fileSize` bytes. Of nginx alone, `/slow` takes a second, and `/lost` closes the connection.
    public let url: URL
    /// The server's URL over TLS with HTTP/2, and the file of its certificate. `nil` without nginx or openssl.
    public private(set) var secured: (url: URL, certificate: URL)?
    /// The server's name for people.
    public let name: String
    private let process: ServerProcess
    private let folder: URL?

    /// The number of bytes of a small response.
    public static let bodySize = 1_024
    /// The body of a small response.
    public static let text = #"{"text":"\#(String(repeating: "x", count: bodySize - 11))"}"#

    /// Returns one of the loopback addresses at which nginx listens: 127.0.0.1 for 0. Only Linux has others.
    public static func address(_ number: Int) -> String { "127.0.\(number / 250).\(1 + number % 250)" }

    /// The number of bytes of a page.
    public static let pageSize = 16 << 10

    /// Starts the server, and returns when it responds.
    /// - Parameters:
    ///   - fileSize: The number of bytes of the response to `/file`; 0 for none.
    ///   - hosts: The number of addresses at which nginx listens: see `address(_:)`.
    public static func start(fileSize: Int = 0, hosts: Int = 1) async throws -> Upstream {
        if let nginx = findProgram("nginx") { return try await start(nginx, fileSize, hosts) }
        let process = try ServerProcess.again(["serve-upstream", "\(fileSize)"])
        guard let url = URL(string: process.firstLine()) else { throw Failed(reason: "the server did not start") }
        return Upstream(url: url, name: "TestServer in a separate process (nginx is not installed)", process: process, folder: nil)
    }

    /// Ends the server.
    public func stop() {
        process.end()
        if let folder { try? FileManager.default.removeItem(at: folder) }
    }

    /// Serves, if this process was started as a server, and then ends it. Programs call this method first.
    public static func serveIfAsked() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, arguments[1] == "serve-upstream", let fileSize = Int(arguments[2]) else { return }
        let body = Data(text.utf8), piece = Data(count: 1 << 20)
        let server = try await TestServer.start(recordsRequests: false) { request in
            if request.path.hasPrefix("/page") {
                return request.headers["If-None-Match"] == nil
                    ? .data(Data(count: pageSize), contentType: "text/html", headers: ["ETag": "\"1\""])
                    : .status(304, headers: ["ETag": "\"1\""])
            }
            guard request.path == "/file" else { return .data(body, contentType: "application/json") }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(fileSize)\r\n\r\n"
            let pieces = stride(from: 0, to: fileSize, by: piece.count).map {
                ConnectionStep.sendData(piece.prefix(fileSize - $0))
            }
            return .script([.send(head)] + pieces + [.close])
        }
        ServerProcess.announce(server.url.absoluteString)
    }

    private static func start(_ nginx: String, _ fileSize: Int, _ hosts: Int) async throws -> Upstream {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ness-upstream-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // The ports of servers that have just stopped are free.
        let probes = [try await TestServer.start { _ in .status(204) }, try await TestServer.start { _ in .status(204) }]
        let ports = probes.map(\.port)
        for probe in probes { await probe.stop() }
        let file = folder.appendingPathComponent("file")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        // The file is sparse: it takes no space, and reading it uses no disk.
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(fileSize))
        try handle.close()
        try Data(count: pageSize).write(to: folder.appendingPathComponent("page"))
        let certificate = makeCertificate(in: folder)
        let configuration = folder.appendingPathComponent("nginx.conf")
        try nginxConfiguration(folder, ports[0], hosts, secured: certificate == nil ? nil : ports[1]).write(
            to: configuration, atomically: true, encoding: .utf8)
        let log = folder.appendingPathComponent("error.log").path
        let process = try ServerProcess(program: nginx, ["-p", folder.path, "-c", configuration.path, "-e", log])
        guard let url = URL(string: "http://127.0.0.1:\(ports[0])"), let securedURL = URL(string: "https://127.0.0.1:\(ports[1])") else {
            throw Failed(reason: "no URL")
        }
        let ness = Ness()
        for _ in 0..<500 {
            if let result = try? await ness.httpRequest(.get, withUrl: url.appendingPathComponent("get")).dataRequest().value {
                let version = result.message.headers["Server"] ?? "nginx"
                await ness.shutdown(within: .zero)
                return Upstream(
                    url: url, secured: certificate.map { (securedURL, $0) }, name: "\(version) with one worker, in a separate process",
                    process: process, folder: folder)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        process.end()
        throw Failed(reason: "nginx did not start: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }

    /// Makes a certificate for 127.0.0.1, and its key beside it. `nil` if openssl is not installed.
    private static func makeCertificate(in folder: URL) -> URL? {
        guard let openssl = findProgram("openssl") else { return nil }
        let (certificate, key) = (folder.appendingPathComponent("certificate.pem"), folder.appendingPathComponent("key.pem"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: openssl)
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
        ]
        process.arguments? += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate.path, "-keyout", key.path]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        process.waitUntilExit()
        return process.terminationStatus == 0 ? certificate : nil
    }

    private static func nginxConfiguration(_ folder: URL, _ port: Int, _ hosts: Int, secured: Int?) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.path)/\($0);" }
        return """
            daemon off;
            master_process off;
            worker_processes 1;
            pid \(folder.path)/nginx.pid;
            events { worker_connections 16384; }
            http {
                access_log off;
                sendfile on;
                keepalive_timeout 1h;
                keepalive_requests 1000000000;
                default_type application/json;
                \(temporary.joined(separator: "\n    "))
                \(secured == nil ? "" : "ssl_certificate \(folder.path)/certificate.pem; ssl_certificate_key \(folder.path)/key.pem;")
                server {
                    \((0..<hosts).map { "listen \(address($0)):\(port) backlog=4096;" }.joined(separator: " "))
                    \(secured.map { "listen 127.0.0.1:\($0) ssl http2 backlog=4096;" } ?? "")
                    location /get { return 200 '\(text)'; }
                    location = /slow { limit_rate 700; return 200 '\(text)'; }
                    location = /lost { return 444; }
                    location = /file { root \(folder.path); }
                    location /page { default_type text/html; root \(folder.path); try_files /page =404; }
                }
            }
            """
    }
}

/// An error of the harness.
public struct Failed: Error, CustomStringConvertible {
    /// The reason.
    public let description: String
    /// Makes an error with a reason.
    public init(reason: String) { description = reason }
}

/// Returns the path of a program on `PATH`, or in the folders of system programs.
public func findProgram(_ name: String) -> String? {
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (path + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
}
