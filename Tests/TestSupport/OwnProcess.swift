#if os(Linux)
import Foundation
import NessTesting
import Testing

/// Runs each test of a suite in a process of its own, whose URLSession trusts `OwnProcess.authority` and may be given a proxy.
///
/// On Linux URLSession knows no certificates but the system's, and no proxies but the environment's, which belongs to the whole process. So
/// the test bundle runs again, with this test alone, and with a library before all others that has the system's list of certificates read
/// from another file. For suites of tests without arguments.
package struct OwnProcess: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        if Self.certificates != nil {
            // The list of certificates has to be there before the first request.
            _ = try Self.authority.get()
            return try await function()
        }
        // `Module.Suite/test()/File.swift:1:2`; a filter knows no places.
        let name = "\(test.id)".split(separator: "/").dropLast().joined(separator: "/")
        var environment = ProcessInfo.processInfo.environment
        for proxy in Self.proxies { environment[proxy] = nil }
        let file = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        environment[Self.variable] = file.path
        environment["LD_PRELOAD"] = try await TrustLibrary.file.value.path
        let arguments = ["--testing-library", "swift-testing", "--filter", "^" + NSRegularExpression.escapedPattern(for: name)]
        let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let child = try Child(arguments, executable: executable, environment: environment)
        let end = await child.end()
        if end.reason != .exit || end.status != 0 {
            Issue.record("its process ended with \(end.status):\n\(child.lines.entries.suffix(60).joined(separator: "\n"))")
        }
    }

    /// The variable that names the file with the certificates that are trusted.
    package static let variable = "NESS_TEST_CERTIFICATES"
    private static let proxies = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
    /// The file with the certificates that this process trusts; `nil` in the process of the test run itself.
    package static let certificates = ProcessInfo.processInfo.environment[variable]

    /// The authority that this process trusts.
    package static let authority = Result {
        let authority = try TestAuthority()
        try authority.pem.write(toFile: certificates ?? "", atomically: true, encoding: .utf8)
        return authority
    }

    /// A host whose name look-up never ends in this process.
    package static let hangingHost = "hanging.test"

    /// Returns the number of look-ups of `hangingHost` that have started. `nil` if this is not a process of a suite's own.
    package static var hangingLookUpCount: (@convention(c) () -> Int32)? {
        dlsym(nil, "ness_test_look_up_count").map { unsafeBitCast($0, to: (@convention(c) () -> Int32).self) }
    }

    /// Has all https requests of this process go through a proxy; nil for none.
    package static func setProxy(_ proxy: URL?) { setenv("https_proxy", proxy?.absoluteString ?? "", 1) }
}

extension Trait where Self == OwnProcess {
    /// Runs each test of a suite in a process of its own.
    package static var inOwnProcess: OwnProcess { OwnProcess() }
}

/// A library that a process loads before all others, so that its functions are everyone's. Its `fopen` reads the system's certificates from
/// elsewhere, and its `getaddrinfo` does not return for one host.
private enum TrustLibrary {
    static let file = Task {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ness-trust-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (source, library) = (folder.appending(path: "trust.c"), folder.appending(path: "trust.so"))
        try code.write(to: source, atomically: true, encoding: .utf8)
        // The package manager links with clang, so there is one.
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let compilers = ["clang", "cc", "gcc"].flatMap { name in path.map { "\($0)/\(name)" } }
        let compiler = try #require(compilers.first(where: FileManager.default.isExecutableFile), "there is no C compiler on the PATH")
        let child = try Child(
            ["-shared", "-fPIC", "-o", library.path, source.path], executable: URL(fileURLWithPath: compiler),
            environment: ProcessInfo.processInfo.environment)
        let end = await child.end()
        try #require(end.status == 0, "\(child.lines.entries)")
        return library
    }

    private static let code = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <netdb.h>
        #include <stdatomic.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>

        static const char *places[] = { "ca-certificates.crt", "ca-bundle.crt", "ca-bundle.pem", "/ssl/cert.pem" };

        static const char *place(const char *path) {
            const char *ours = getenv("\(OwnProcess.variable)");
            if (!ours || !path) return path;
            for (int i = 0; i < 4; i++) if (strstr(path, places[i])) return ours;
            return path;
        }

        typedef FILE *(*opener)(const char *, const char *);
        FILE *fopen(const char *path, const char *mode) { return ((opener)dlsym(RTLD_NEXT, "fopen"))(place(path), mode); }
        FILE *fopen64(const char *path, const char *mode) { return ((opener)dlsym(RTLD_NEXT, "fopen64"))(place(path), mode); }

        static atomic_int lookUps;
        int ness_test_look_up_count(void) { return lookUps; }

        typedef int (*finder)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
        int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
            if (node && strcmp(node, "\(OwnProcess.hangingHost)") == 0) {
                lookUps++;
                for (;;) pause();
            }
            return ((finder)dlsym(RTLD_NEXT, "getaddrinfo"))(node, service, hints, result);
        }
        """
}
#endif
