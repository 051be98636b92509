import Foundation

/// The directives of `Cache-Control` (RFC 9111, 5.2).
struct CacheControl: Sendable {
    /// Each directive with its argument; where one stands several times, with the argument that allows the least.
    private var arguments: [String: String?] = [:]

    /// Reads the directives of a response.
    init(_ headers: HTTPHeaders) {
        for value in headers.values(for: "cache-control") { read(value) }
    }

    /// Reads the directives of a request. `Pragma: no-cache` is one where there is no `Cache-Control` (RFC 9111, 5.4).
    init(ofRequest headers: HTTPHeaders) {
        self.init(headers)
        let pragma = headers["pragma"]?.lowercased() ?? ""
        if !headers.contains("cache-control"), pragma.contains("no-cache") { arguments["no-cache"] = .some(nil) }
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
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return TimeInterval(min(Int(text) ?? .max, 1 << 31))
    }

    private mutating func read(_ value: String) {
        var rest = value[...]
        while !rest.isEmpty {
            rest = rest.drop { $0 == "," || $0 == " " || $0 == "\t" }
            let name = rest.prefix { $0 != "," && $0 != "=" }
            rest = rest.dropFirst(name.count)
            var argument: String?
            if rest.first == "=" {
                rest = rest.dropFirst()
                argument = Self.takeArgument(&rest)
            }
            // What stands behind an argument belongs to nothing.
            rest = rest.drop { $0 != "," }
            add(name.trimmingCharacters(in: .whitespaces).lowercased(), argument)
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

    /// A token, or a quoted string (RFC 9110, 5.6.4).
    private static func takeArgument(_ rest: inout Substring) -> String {
        rest = rest.drop { $0 == " " || $0 == "\t" }
        guard rest.first == "\"" else {
            let token = rest.prefix { $0 != "," }
            rest = rest.dropFirst(token.count)
            return token.trimmingCharacters(in: .whitespaces)
        }
        rest = rest.dropFirst()
        var text = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let escaped = rest.popFirst() { text.append(escaped) } else { text.append(character) }
        }
        return text
    }
}
