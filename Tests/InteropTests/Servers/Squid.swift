#if os(Linux)
import Foundation
import NessTesting

/// A Squid that forwards requests and tunnels, on one port for everyone and on one for those with a password. It refuses the host
/// `denied.test`.
struct Squid: SharedServer {
    static let user = "me"
    static let password = "hidden word"

    let openPort: Int
    let closedPort: Int
    let process: ServerProcess

    static func start(in folder: URL) async throws -> Squid {
        let openPort = try Ports.free(), closedPort = try Ports.free()
        // The hash of `password` by `openssl passwd -apr1`.
        try "\(user):$apr1$ness0000$KhKWe6lbY8PfD6p3N7DUU/\n".write(
            to: folder.appending(path: "users"), atomically: true, encoding: .utf8)
        let configuration = """
            http_port 127.0.0.1:\(openPort) name=open
            http_port 127.0.0.1:\(closedPort) name=closed
            auth_param basic program /usr/lib/squid/basic_ncsa_auth \(folder.path)/users
            auth_param basic children 1 startup=1
            auth_param basic realm Squid
            acl open myportname open
            acl members proxy_auth REQUIRED
            acl denied dstdomain denied.test
            http_access deny denied
            http_access allow open
            http_access allow members
            http_access deny all
            cache deny all
            cache_log /dev/null
            access_log none
            pid_filename none
            netdb_filename none
            pinger_enable off
            shutdown_lifetime 0 seconds
            visible_hostname squid.test
            dns_nameservers 127.0.0.1
            max_filedescriptors 1024
            coredump_dir \(folder.path)

            """
        let file = folder.appending(path: "squid.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        // With `-d 1` it writes its messages to the standard error as well.
        let process = try await ServerProcess.start(.squid, ["-N", "-f", file.path, "-d", "1"], in: folder, ready: "Accepting HTTP")
        for port in [openPort, closedPort] { try await Ports.waitUntilOpen(port) }
        return Squid(openPort: openPort, closedPort: closedPort, process: process)
    }
}
#endif
