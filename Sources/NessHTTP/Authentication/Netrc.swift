import Foundation

extension Authentication where Self == BasicAuthentication {
    /// Reads the credential of a host from a netrc file, as curl and git do.
    ///
    /// ```swift
    /// let login = try BasicAuthentication.netrc(for: "api.example.com")
    /// let ness = Ness {
    ///     $0.baseURL = URL(string: "https://api.example.com/")
    ///     $0.authentication = login
    /// }
    /// ```
    ///
    /// This call reads the file, and blocks the thread meanwhile. Later changes of the file have no effect. The first entry that matches is
    /// used: `machine` with this name, or `default`. Macros, accounts and comments are skipped. A value in quotation marks may contain
    /// spaces and the escapes `\"`, `\\`, `\n`, `\r` and `\t`.
    /// - Parameters:
    ///   - host: The host's name, compared case-insensitively.
    ///   - file: The file; `nil` for `.netrc` in the home folder.
    /// - Returns: The authentication. `nil` if the file does not exist, or contains neither login nor password for the host.
    /// - Throws: `CocoaError` if the file cannot be read.
    public static func netrc(for host: String, in file: URL? = nil) throws -> BasicAuthentication? {
        let file = file ?? URL(fileURLWithPath: NSHomeDirectory()).appendingPathComponent(".netrc")
        let bytes: Data
        do {
            bytes = try Data(contentsOf: file)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        }
        var reader = NetrcReader(bytes)
        return reader.credential(of: host).map { BasicAuthentication(user: $0.user, password: $0.password) }
    }
}

/// Reads the words of a netrc file.
struct NetrcReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { rest = ArraySlice(bytes) }

    /// Returns the credential of a host. `nil` if the file contains none.
    mutating func credential(of host: String) -> (user: String, password: String)? {
        var isFound = false
        var user: String?, password: String?
        while let word = next(), !isFound || !["machine", "default"].contains(word) {
            switch word {
            case "machine": isFound = next()?.equalsIgnoringCase(host) == true
            case "default": isFound = true
            case "login":
                let value = next()
                if isFound { user = value }
            case "password":
                let value = next()
                if isFound { password = value }
            case "account": _ = next()
            // A macro ends with an empty line.
            case "macdef": while let line = nextLine(), !line.isEmpty {}
            case _ where word.utf8.first == UInt8(ascii: "#"): _ = nextLine()
            default: break
            }
        }
        return user == nil && password == nil ? nil : (user ?? "", password ?? "")
    }

    private mutating func nextLine() -> ArraySlice<UInt8>? {
        if rest.isEmpty { return nil }
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        rest = rest.dropFirst(line.count + 1)
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }

    private mutating func next() -> String? {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        rest = rest.drop(while: isSpace)
        guard let first = rest.first else { return nil }
        if first == UInt8(ascii: "\"") { return nextQuoted() }
        let word = rest.prefix { !isSpace($0) }
        rest = rest.dropFirst(word.count)
        return String(decoding: word, as: UTF8.self)
    }

    private mutating func nextQuoted() -> String {
        let escapes = [UInt8(ascii: "n"): UInt8(ascii: "\n"), UInt8(ascii: "r"): UInt8(ascii: "\r"), UInt8(ascii: "t"): UInt8(ascii: "\t")]
        var word: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                word.append(escapes[escaped] ?? escaped)
            } else {
                word.append(byte)
            }
        }
        return String(decoding: word, as: UTF8.self)
    }
}
