import Foundation

extension HTTPRequest {
    /// The request as a command for `curl`, in one line that Unix shells read alike. Secrets are redacted.
    ///
    /// Pasting the command runs only `curl`, and never makes it read a file, regardless of what the request contains. The shell's `printf`
    /// makes the line breaks and the invisible characters. A line break at the end of a field is left out, because a shell cannot pass it.
    ///
    /// A body that is long, in a file or not text is left to the standard input (`--data-binary @-`). A body that ends with a line break is
    /// piped there.
    public var curlCommand: String { curlCommand(revealingSecrets: false) }

    /// Returns the request as a command for `curl`: see `curlCommand`.
    /// - Parameter revealingSecrets: True if secrets are part of the command, which then must not reach a log or another person.
    /// - Returns: The command, in one line.
    public func curlCommand(revealingSecrets: Bool) -> String {
        let redactor = redactor
        var parts = ["curl", "--globoff"], input = ""
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
        // curl takes an argument that begins with @ for a file. No valid field name begins with it. A zero byte is not part of a shell's
        // word.
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
            if let text, text.unicodeScalars.last != "\n" {
                parts += ["--data-raw", text.shellQuoted]
            } else {
                // The shell removes line breaks from the end of what a command substitution prints.
                input = text.map { $0.shellPrinted + " | " } ?? ""
                parts += ["--data-binary", "@-"]
            }
        }
        return input + parts.joined(separator: " ")
    }
}

extension String {
    /// The text as one word, on one line, that sh, zsh and fish read alike.
    fileprivate var shellQuoted: String {
        if isEmpty { return "''" }
        // Scalars, and not Characters: an apostrophe and a combining mark are one Character, which would not be escaped.
        let scalars = Array(unicodeScalars)
        if scalars.contains(where: \.isInvisible) { return "\"$(\(shellPrinted))\"" }
        var word = "", isQuoted = false
        for (scalar, next) in zip(scalars, scalars.dropFirst() + ["'"]) {
            // Between single quotes, fish reads `\\` and `\'` as escapes, and sh does not.
            let isEscaped = scalar == "'" || scalar == "\\" && (next == "'" || next == "\\")
            // An option of zsh reads `''` between single quotes as one quote. None stands here, because each quoted part has content.
            if isEscaped == isQuoted {
                word += "'"
                isQuoted.toggle()
            }
            if isEscaped { word += "\\" }
            word.unicodeScalars.append(scalar)
        }
        return isQuoted ? word + "'" : word
    }

    /// The `printf` command, on one line, that prints the text in sh, zsh and fish alike.
    fileprivate var shellPrinted: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            // A shell's word can't hold it.
            case "\0": continue
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            // An interactive shell expands a `!` even here, and a single `"` would make it expand those of later words.
            case _ where scalar.isInvisible || "'\\\"!".unicodeScalars.contains(scalar):
                // POSIX reads three octal digits at most after the zero, so that a digit that follows stays what it is.
                for byte in String(scalar).utf8 {
                    let octal = String(byte, radix: 8)
                    text += "\\0" + String(repeating: "0", count: 3 - octal.count) + octal
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        return "printf %b '\(text)'"
    }
}
