#if os(Linux)
import Foundation

/// A server program that rows need. `.ci/interop-servers` installs all of them.
enum Program: String, CaseIterable, CustomStringConvertible {
    case nginx
    case apache = "apache2"
    case haproxy
    case squid
    case node
    case gunicorn
    /// The interpreter of the virtual environment.
    case python

    var description: String { rawValue }

    /// The path of the program; `nil` where it is not installed.
    var path: String? { Self.paths[self] }

    /// A Boolean value that indicates whether the program is installed.
    var isInstalled: Bool { path != nil }

    /// The programs that are not installed.
    static var missing: [Program] { allCases.filter { !$0.isInstalled } }

    /// A Boolean value that indicates whether a missing program is a failure: true where the environment says `CI=true`.
    static let areRequired = ProcessInfo.processInfo.environment["CI"] == "true"

    private static let paths: [Program: String] = {
        let search = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        // Debian installs servers where the path of an ordinary user does not lead. gunicorn has to be the one that knows httpbin.
        let system = search + ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin"]
        let found = allCases.compactMap { program -> (Program, String)? in
            // An older environment lacks the packages of tus.
            if program == .python, !FileManager.default.fileExists(atPath: environment + "/../tus-1") { return nil }
            return ([.gunicorn, .python].contains(program) ? [environment] : system).map { "\($0)/\(program.rawValue)" }
                .first(where: FileManager.default.isExecutableFile).map { (program, $0) }
        }
        return Dictionary(uniqueKeysWithValues: found)
    }()

    /// The virtual environment of httpbin and gunicorn.
    private static let environment = repository.appending(path: ".build-interop/venv/bin").path

    /// The root of the repository.
    static let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
}
#endif
