import Foundation

/// The field `Content-Disposition` (RFC 6266): the file name that a server suggests, made safe.
package enum ContentDisposition {
    /// Returns the suggested file name; `nil` if the server suggests none, or if no safe character is left.
    ///
    /// `filename*` takes precedence over `filename`. Regardless of what the server sends, the result is one path component. It names no
    /// folder, no hidden file, no partial file and no file's version, contains no control character, and has about 200 bytes at most.
    /// - Parameter value: The field's value.
    package static func fileName(_ value: String) -> String? {
        let parameters = HeaderFieldValue.parameters(value)
        let extended = parameters.first { $0.name == "filename*" }.flatMap { decode($0.value) }
        return safe(extended ?? parameters.first { $0.name == "filename" }?.value ?? "")
    }

    /// The longest name in bytes. File systems allow 255, so a name has room for an ending, such as that of a partial file.
    private static let maximumLength = 200

    /// Makes a name a safe path component; `nil` if nothing is left of it.
    package static func safe(_ name: String) -> String? {
        // The separator of Windows counts as well: the name may come from Windows, or the file may go there. The split is by scalars,
        // because a combining scalar forms one character with a separator and would hide it.
        var name = String(Substring(name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? "".unicodeScalars[...]))
        name.unicodeScalars.removeAll { $0.value < 32 || $0.value == 127 || $0.properties.isBidiControl }
        name = name.trimmingCharacters(in: .whitespaces)
        name = String(Substring(name.unicodeScalars.drop { $0 == "." }))
        // Shortened by scalars first, because a single Character may be as long as the name.
        name.unicodeScalars.removeLast(max(0, name.unicodeScalars.count - maximumLength))
        while name.utf8.count > maximumLength { name.removeLast() }
        if isPartialName(name) { name += "_" }
        return name.isEmpty ? nil : name
    }

    /// Returns true for a name that a partial file or the version of another download may have. A server must not be able to plant such a
    /// file. The comparison assumes a file system that ignores case, normalization and invisible scalars.
    private static func isPartialName(_ name: String) -> Bool {
        var folded = name.precomposedStringWithCompatibilityMapping.lowercased()
        folded.unicodeScalars.removeAll(where: \.isInvisible)
        let endings = [".ness-part", ".ness-part.json", ".ness-part.json.new", ".ness-version", ".ness-version.new"]
        // By bytes: a scalar before the dot may form one Character with it.
        return endings.contains { folded.endsExactly(with: $0) }
    }

    /// Decodes a value such as `UTF-8'en'na%C3%AFve` (RFC 8187); `nil` for character sets other than UTF-8 and ISO-8859-1.
    private static func decode(_ value: String) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = Data(PercentEncoding.decode(Array(parts[2])[...]))
        switch Substring(parts[0]).asciiLowercased {
        case "utf-8": return String(data: bytes, encoding: .utf8)
        case "iso-8859-1": return String(data: bytes, encoding: .isoLatin1)
        default: return nil
        }
    }
}
