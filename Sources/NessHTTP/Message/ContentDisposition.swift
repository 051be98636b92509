import Foundation

/// What a server wants a body to be called (RFC 6266), made safe to be a file's name.
package enum ContentDisposition {
    /// The file name; nil where none is given, or none is left of it.
    ///
    /// `filename*` counts before `filename`. Whatever the server says, the result is one path component: no folder, no control
    /// character, not hidden, at most 200 bytes or so, and not that of a partial file or of a file's version.
    /// - Parameter value: The field's value.
    package static func fileName(_ value: String) -> String? {
        let parameters = HeaderFieldValue.parameters(value)
        let extended = parameters.first { $0.name == "filename*" }.flatMap { decode($0.value) }
        return safe(extended ?? parameters.first { $0.name == "filename" }?.value ?? "")
    }

    /// A name that is one path component, or nil.
    package static func safe(_ name: String) -> String? {
        // Windows' separator too: the name may come from there, or go there. By scalars: some make one character with what follows or what
        // is before them, and would hide a separator.
        var name = String(Substring(name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? "".unicodeScalars[...]))
        name.unicodeScalars.removeAll { $0.value < 32 || $0.value == 127 || $0.properties.isBidiControl }
        name = name.trimmingCharacters(in: .whitespaces)
        name = String(Substring(name.unicodeScalars.drop { $0 == "." }))
        while name.utf8.count > 200 { name.removeLast() }
        if isPartialName(name) { name += "_" }
        return name.isEmpty ? nil : name
    }

    /// Returns true for a name that a partial file or the version of another download may have, on a file system that tells neither cases nor
    /// normalization forms apart: a server must not be able to plant one.
    private static func isPartialName(_ name: String) -> Bool {
        let folded = name.precomposedStringWithCompatibilityMapping.lowercased()
        let endings = [".ness-part", ".ness-part.json", ".ness-part.json.new", ".ness-version", ".ness-version.new"]
        return endings.contains(where: folded.hasSuffix)
    }

    /// Decodes `UTF-8'en'na%C3%AFve` (RFC 8187); nil for other character sets than UTF-8 and ISO-8859-1.
    private static func decode(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(parts[2].utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigitValue, let low = rest.dropFirst().first?.hexDigitValue {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        switch parts[0].lowercased() {
        case "utf-8": return String(data: Data(bytes), encoding: .utf8)
        case "iso-8859-1": return String(data: Data(bytes), encoding: .isoLatin1)
        default: return nil
        }
    }
}
