import Foundation

/// The directives of `Cache-Control` (RFC 9111, 5.2).
struct CacheControl: Sendable {
    /// Each directive with its argument; where one stands several times, with the argument that allows the least.
    private var arguments: [String: String?] = [:]

    /// Reads the directives of a response.
    init(_ headers: HTTPHeaders) {
        for value in headers.values(for: HeaderName.cacheControl) { read(value) }
    }

    /// Reads the directives of a request. `Pragma: no-cache` is one where there is no `Cache-Control` (RFC 9111, 5.4).
    init(ofRequest headers: HTTPHeaders) {
        self.init(headers)
        let pragma = headers[HeaderName.pragma]?.lowercased() ?? ""
        if !headers.contains(HeaderName.cacheControl), pragma.contains("no-cache") { arguments["no-cache"] = .some(nil) }
    }

    /// Whether a directive is there, with or without an argument.
    func has(_ name: String) -> Bool { arguments[name] != nil }

    /// A directive's time; nil where it is absent. What is no time, or none at all, is `missing`: zero lets nothing be used without
    /// asking (RFC 9111, 4.2.1).
    func seconds(_ name: String, missing: TimeInterval = 0) -> TimeInterval? {
        guard let argument = arguments[name] else { return nil }
        guard let argument else { return missing }
        return Self.seconds(argument) ?? 0
    }

    /// A number of seconds (RFC 9111, 1.2.2), cut to 68 years; nil where it is none.
    static func seconds(_ text: String) -> TimeInterval? {
        HeaderFieldValue.number(text).map { TimeInterval(min($0, 1 << 31)) }
    }

    private mutating func read(_ value: String) {
        var reader = HeaderFieldValue(value)
        while !reader.isAtEnd {
            let name = reader.word { $0 == HeaderFieldValue.comma || $0 == HeaderFieldValue.equals }
            let hasArgument = reader.take(HeaderFieldValue.equals)
            add(name.lowercased(), hasArgument ? reader.value { $0 == HeaderFieldValue.comma } : nil)
            // The text between an argument and the next comma belongs to no directive.
            reader.skip { $0 != HeaderFieldValue.comma }
            reader.take(HeaderFieldValue.comma)
        }
    }

    private mutating func add(_ name: String, _ argument: String?) {
        guard !name.isEmpty else { return }
        if let known = arguments[name], let known, let before = Self.seconds(known), let argument {
            arguments[name] = .some("\(Int(min(before, Self.seconds(argument) ?? 0)))")
        } else {
            arguments[name] = .some(argument)
        }
    }
}
