import Foundation

/// The directives of `Cache-Control` (RFC 9111, 5.2).
package struct CacheControl: Sendable {
    /// The arguments of each directive, which may occur several times. `nil` stands for no argument.
    private var arguments: [String: [String?]] = [:]

    /// Reads the directives of a response.
    package init(_ headers: HTTPHeaders) {
        for value in headers.values(for: HeaderName.cacheControl) { read(value) }
    }

    /// Reads the directives of a request. Without `Cache-Control`, `Pragma: no-cache` counts as `no-cache` (RFC 9111, 5.4).
    package init(ofRequest headers: HTTPHeaders) {
        self.init(headers)
        guard !headers.contains(HeaderName.cacheControl), let pragma = headers[HeaderName.pragma] else { return }
        if pragma.lowercased().contains("no-cache") { arguments["no-cache"] = [nil] }
    }

    /// Checks whether a directive is present, with or without an argument.
    package func has(_ name: String) -> Bool { arguments[name] != nil }

    /// Returns the time of a directive in seconds, the shortest if the directive occurs several times. `nil` if the directive is absent.
    /// - Parameters:
    ///   - name: The directive, in lower case.
    ///   - missing: The time of a directive without an argument.
    package func seconds(_ name: String, missing: TimeInterval = 0) -> TimeInterval? {
        // An invalid argument counts as zero, so that the response is validated before use (RFC 9111, 4.2.1).
        arguments[name]?.map { argument in argument.map { Self.seconds($0) ?? 0 } ?? missing }.min()
    }

    /// Reads a number of seconds (RFC 9111, 1.2.2), limited to 68 years. `nil` if the text is not a number.
    static func seconds(_ text: String) -> TimeInterval? {
        HeaderFieldValue.number(text).map { TimeInterval(min($0, 1 << 31)) }
    }

    private mutating func read(_ value: String) {
        var reader = HeaderFieldValue(value)
        while !reader.isAtEnd {
            let name = reader.word { $0 == HeaderFieldValue.comma || $0 == HeaderFieldValue.equals }
            let hasArgument = reader.take(HeaderFieldValue.equals)
            let argument = hasArgument ? reader.value { $0 == HeaderFieldValue.comma } : nil
            if !name.isEmpty { arguments[name.lowercased(), default: []].append(argument) }
            // The text between an argument and the next comma belongs to no directive.
            reader.skip { $0 != HeaderFieldValue.comma }
            reader.take(HeaderFieldValue.comma)
        }
    }
}
