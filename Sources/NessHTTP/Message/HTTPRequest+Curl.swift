import Foundation

extension HTTPRequest {
    /// The request as a command for `curl`, in one line for a POSIX shell with `$'…'`, such as bash or zsh. Secrets are redacted.
    ///
    /// Pasting the command runs only `curl`, and never makes it read a file, regardless of what the request contains. A body that is long,
    /// in a file or not text is left to the standard input (`--data-binary @-`).
    public var curlCommand: String { curlCommand(revealingSecrets: false) }

    /// Returns the request as a command for `curl`: see `curlCommand`.
    /// - Parameter revealingSecrets: True if secrets are part of the command, which then must not reach a log or another person.
    /// - Returns: The command, in one line.
    public func curlCommand(revealingSecrets: Bool) -> String {
        let redactor = redactor
        var parts = ["curl", "--globoff"]
        // A manager sends no file URL, but for such a URL curl would read the file.
        if url.scheme.map({ ["http", "https"].contains($0.lowercased()) }) == false { parts += ["--proto", "=http,https"] }
        switch (method, body) {
        case (.get, nil): break
        case (.head, nil): parts.append("--head")
        default: parts += ["--request", method.rawValue.shellQuoted]
        }
        parts += ["--url", (revealingSecrets ? url.absoluteString : redactor.redacted(url)).shellQuoted]
        var fields = headers.fields
        fields += (body?.headers ?? [:]).filter { !headers.contains($0.name) }
        // curl would add its own value.
        if body != nil, !fields.contains(where: { $0.name.equalsIgnoringCase(HeaderName.contentType) }) {
            parts += ["--header", "'Content-Type:'"]
        }
        // curl takes what begins with @ for a file; no field's name can. A zero byte is not part of a shell's word.
        for field in fields where field.name.utf8.first(where: { $0 != 0 }) != UInt8(ascii: "@") {
            let name = revealingSecrets ? field.name : redactor.redactedName(field)
            let value = revealingSecrets ? field.value : redactor.redacted(field)
            parts += ["--header", (value.isEmpty ? "\(name);" : "\(name): \(value)").shellQuoted]
        }
        if let body {
            let type = fields.first { $0.name.equalsIgnoringCase(HeaderName.contentType) }?.value
            // A command's argument can't be of any length.
            let data = body.data.flatMap { $0.count > 1 << 16 ? nil : $0 }
            let text = data.flatMap {
                revealingSecrets
                    ? String(data: $0, encoding: .utf8).flatMap { $0.utf8.contains(0) ? nil : $0 }
                    : redactor.redacted(body: $0, contentType: type)
            }
            parts += text.map { ["--data-raw", $0.shellQuoted] } ?? ["--data-binary", "@-"]
        }
        return parts.joined(separator: " ")
    }
}

extension String {
    /// The text as one word for a shell, on one line.
    fileprivate var shellQuoted: String {
        // Scalars, and not Characters: an apostrophe and a combining mark are one Character, which would not be escaped.
        guard unicodeScalars.contains(where: \.isInvisible) else {
            return "'" + unicodeScalars.map { $0 == "'" ? #"'\''"# : String($0) }.joined() + "'"
        }
        var quoted = ""
        for scalar in unicodeScalars {
            switch scalar {
            // A shell's word can't hold it.
            case "\0": continue
            case "'", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            // Three octal digits at most are read, so that what follows stays what it is.
            case _ where scalar.value < 32 || scalar.value == 127:
                let octal = String(scalar.value, radix: 8)
                quoted += "\\" + String(repeating: "0", count: 3 - octal.count) + octal
            case _ where scalar.isInvisible:
                for byte in String(scalar).utf8 { quoted += "\\" + String(byte, radix: 8) }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return "$'\(quoted)'"
    }
}
