#if os(Linux) || os(macOS)
import Foundation
import NessHTTP
import TestSupport
import Testing

/// Commands with hostile values, in each shell. The path of the shell leads to two programs: `curl` records its arguments, and `injected`
/// records that it ran.
@Suite(.inTurn(.withoutSockets)) struct CurlCommandTests {
    /// A shell that people paste commands into. `.ci/interop-servers` installs all of them.
    enum Shell: String, CaseIterable {
        case dash, bash, zsh, ksh, busybox, fish

        var path: String? {
            let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin", "/bin"]
            return folders.map { "\($0)/\(rawValue)" }.first(where: FileManager.default.isExecutableFile)
        }

        /// The arguments that make the shell read none of its user's files.
        var arguments: [String] {
            switch self {
            case .dash, .ksh: []
            case .bash: ["--norc", "--noprofile"]
            case .zsh: ["-f"]
            case .busybox: ["sh"]
            case .fish: ["--no-config"]
            }
        }

        /// The lines that turn on what an interactive shell does with `!`, and what else changes the meaning of quotes.
        var options: [String] {
            switch self {
            case .bash: ["set -o history", "set -o histexpand"]
            case .zsh: ["setopt rcquotes cshjunkiequotes extendedglob globsubst interactivecomments"]
            default: []
            }
        }

        /// The shells that are not installed. A Mac does not need all of them.
        static var missing: [Shell] { allCases.filter { $0.path == nil } }
    }

    /// The way in which a shell gets the commands.
    enum Way: CaseIterable { case file, argument, input }

    #if os(Linux)
    @Suite(
        .enabled(
            if: ProcessInfo.processInfo.environment["CI"] == "true" || Shell.missing.isEmpty,
            "not installed, so their tests are skipped: \(Shell.missing) (.ci/interop-servers installs them)")
    ) struct InstallationTests {
        @Test("every shell is installed")
        func shells() { #expect(Shell.missing.isEmpty) }
    }
    #endif

    @Test(
        "a pasted command runs curl alone, with the values of the request byte for byte, in every shell",
        arguments: Shell.allCases.filter { $0.path != nil }, ["C", "C.UTF-8"])
    func pasted(into shell: Shell, locale: String) async throws {
        var generator = SeededGenerator(seed: 38)
        let requests = try (0..<40).map { _ in try hostileRequest(&generator) }
        let commands = requests.map { $0.curlCommand(revealingSecrets: true) }
        for command in commands { #expect(!command.contains { $0.isNewline }) }
        for way in Way.allCases {
            let (records, errors) = try await records(of: shell.options + commands, in: shell, way, locale)
            #expect(errors == [])
            try #require(records.count == commands.count, "\(way)")
            for (index, record) in records.enumerated() where record != Self.expected(requests[index]) {
                Issue.record("\(way): \(commands[index].debugDescription) became \(record)")
            }
        }
    }

    @Test("a long body reaches curl as it is, in every shell", arguments: Shell.allCases.filter { $0.path != nil })
    func long(_ shell: Shell) async throws {
        let (records, errors) = try await records(of: Self.long.map(\.command), in: shell, .file, "C.UTF-8")
        #expect(errors == [] && records == Self.long.map(\.words))
    }

    /// Bodies of 64 KiB, one in an argument and one that is piped.
    private static let long: [(command: String, words: [String])] = [",", "\n"].compactMap { end in
        guard let url = URL(string: "https://h.test") else { return nil }
        let line = #"{"a": "it's \" \\ 👩‍💻"}"# + end
        var request = HTTPRequest(.post, url: url)
        request.body = HTTPBody(
            Data(repeatElement(line.utf8, count: 0xFFFF / line.utf8.count).joined()), headers: ["Content-Type": "text/plain"])
        return (request.curlCommand(revealingSecrets: true), expected(request))
    }

    @Test("the check notices a command that runs another one", arguments: Shell.allCases.filter { $0.path != nil }, Way.allCases)
    func check(_ shell: Shell, _ way: Way) async throws {
        let command = "curl --header 'a'; injected; nowhere"
        let (records, errors) = try await records(of: shell.options + [command], in: shell, way, "C")
        #expect(records == [["--header", "a"], ["injected"]] && errors.contains { $0.contains("nowhere") })
        guard shell == .bash, way == .input else { return }
        let expanded = try await self.records(of: shell.options + [command, #"curl "!!""#], in: shell, way, "C")
        #expect(expanded.records.last == [command], "the shell expands its history")
    }

    // MARK: running

    /// Has a shell run commands.
    /// - Returns: The words that each program recorded, and the lines of the shell's standard error.
    private func records(
        of commands: [String], in shell: Shell, _ way: Way, _ locale: String
    ) async throws -> (records: [[String]], errors: [String]) {
        try await withFolder { folder in
            let record = folder.appending(path: "record").path
            let script = folder.appending(path: "script")
            try program(
                "curl", #"for a; do printf '%s\0' "$a"; done; [ "$a" != @- ] || { /bin/cat; printf '\0'; }; printf '\1\0'"#, in: folder,
                record)
            try program("injected", #"printf 'injected\0\1\0'"#, in: folder, record)
            try Data(commands.joined(separator: "\n").utf8 + [10]).write(to: script)
            let path = try #require(shell.path)
            let work = folder.appending(path: "work").path
            try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
            // This shell has the folder of the programs as its path, so that nothing else can run. `$(cat)` would lose a line break.
            var arguments = [
                "-c",
                #"cd "$1"; way=$2 script=$3; shift 3; case $way in "#
                    + #"file) exec "$@" "$script";; argument) exec "$@" -c "$(/bin/cat "$script")";; *) exec "$@" <"$script";; esac"#,
            ]
            arguments += ["sh", work, "\(way)", script.path, path] + shell.arguments
            let environment = ["PATH": folder.appending(path: "bin").path, "HOME": folder.path, "LC_ALL": locale]
            let child = try Child(arguments, executable: URL(filePath: "/bin/sh"), environment: environment)
            _ = await child.end()
            await child.endOfLines()
            #expect(URL(filePath: work).entries == [], "a command wrote a file")
            let bytes = (try? Data(contentsOf: URL(filePath: record))) ?? Data()
            var records: [[String]] = [[]]
            for word in bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast() {
                if word == Data([1]) {
                    records.append([])
                } else {
                    records[records.count - 1].append(String(decoding: word, as: UTF8.self))
                }
            }
            return (records.dropLast(), child.lines.entries)
        }
    }

    private func program(_ name: String, _ text: String, in folder: URL, _ record: String) throws {
        let bin = folder.appending(path: "bin")
        try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
        let file = bin.appending(path: name).path
        try "#!/bin/sh\n{ \(text); } >>'\(record)'\n".write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
    }

    // MARK: requests

    /// The arguments that curl should get for a request with text as its body.
    private static func expected(_ request: HTTPRequest) -> [String] {
        var words = ["--globoff"]
        if request.method != .get || request.body != nil { words += ["--request", request.method.rawValue] }
        words += ["--url", request.url.absoluteString]
        for field in request.headers.fields + (request.body?.headers.fields ?? []) {
            words += ["--header", field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)"]
        }
        // A zero byte and a line break at the end of a word cannot be passed.
        words = words.map { String(decoding: $0.utf8.filter { $0 != 0 }, as: UTF8.self).withoutLineBreaksAtEnd }
        guard let body = request.body?.data else { return words }
        let text = String(decoding: body, as: UTF8.self)
        // The program records what it reads as another argument.
        return words + (body.last == 10 ? ["--data-binary", "@-", text] : ["--data-raw", text])
    }

    private static let pieces = [
        "'", "'", #"\"#, #"\"#, "\"", "`", "$", "$(injected)", "`injected`", ";injected;", "\ninjected\n", "\n", "\n\n", "\r\n", "\t", "\r",
        "';injected;'", "\";injected;\"", #"\';injected;#"#, "&&injected", "|injected", "&", "||", "(injected)", "{injected,}",
        "<(injected)",
        ">file", ">>file", "</etc/passwd", "!", "!!", "!injected", "!1", "^a^b", "%", "%s", "%n%d", "%%", "~", "~root", "*", "?", "[a-z]",
        "/*",
        "{a,b}", "$HOME", "${HOME}", "$'a'", "$\"a\"", "$((1+1))", "$*", "$$", "#", " # ", "=", "@", "@/etc/passwd", "-", "--", "-o file",
        "--next",
        #"\n"#, #"\\"#, #"\'"#, #"\0"#, #"\0101"#, #"\101"#, #"\x41"#, #"\u0041"#, #"\c"#, "0", "7", "8", "a", "b ", " ", "  ", "injected",
        "👩‍💻", "👩🏽", "❤️", "é", "e\u{301}", "\u{301}", "\u{200D}", "\u{200B}", "\u{FEFF}", "\u{202E}", "\u{2066}", "\u{2069}", "\u{2028}",
        "\u{85}", "\u{A0}", "\u{AD}", "\u{3000}", "\u{1}", "\u{7}", "\u{8}", "\u{1B}[2J", "\u{1B}]0;x\u{7}", "\u{7F}", "\u{FFFD}",
        "\u{FFFE}",
        Unicode.Scalar(0xFDD0).map(String.init) ?? "", "\u{F600}", "\u{F6FF}", "\u{E000}", "\u{10FFFF}", "\u{E0041}", "\u{81}", "\u{9B}",
        "ﾀ", "表", "Ω", "ı", "'\u{301}", "\\\u{FE0F}",
    ]

    private func hostileText(_ generator: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: text.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: 1..<0xD800, using: &generator)) ?? "a")
            case 1: text.unicodeScalars.append(Unicode.Scalar(UInt8.random(in: 1..<128, using: &generator)))
            default: text += Self.pieces.randomElement(using: &generator) ?? ""
            }
        }
        return text
    }

    private func hostileRequest(_ generator: inout SeededGenerator) throws -> HTTPRequest {
        let query = hostileText(&generator)
        let url = try #require(URL(string: "https://h.test/?\(query)") ?? URL(string: "https://h.test/"))
        let method = Bool.random(using: &generator) ? "P" + hostileText(&generator) : "GET"
        var request = HTTPRequest(HTTPMethod(rawValue: method), url: url)
        request.headers["X-A"] = hostileText(&generator)
        request.headers["X" + hostileText(&generator)] =
            hostileText(&generator) + (Int.random(in: 0..<8, using: &generator) == 0 ? "\0" : "")
        if Bool.random(using: &generator) {
            let end = Int.random(in: 0..<4, using: &generator) == 0 ? "\n" : ""
            request.body = HTTPBody(Data((hostileText(&generator) + end).utf8), headers: ["Content-Type": "text/plain"])
        }
        return request
    }
}

extension String {
    fileprivate var withoutLineBreaksAtEnd: String {
        var text = self
        while text.unicodeScalars.last == "\n" { text.unicodeScalars.removeLast() }
        return text
    }
}
#endif
