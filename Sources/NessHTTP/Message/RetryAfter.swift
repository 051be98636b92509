import Foundation

/// When a server asks to come back (RFC 9110, 10.2.3): a number of seconds, or a date.
package enum RetryAfter {
    /// Reads the field.
    /// - Parameters:
    ///   - value: The field's value.
    ///   - now: What a date is counted from.
    /// - Returns: The time to wait, never less than zero; nil where the value is neither form. Longer than a century is a century.
    package static func duration(_ value: String, now: Date) -> Duration? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if let seconds = HeaderFieldValue.number(text) { return .seconds(min(seconds, century)) }
        guard let date = HTTPDate.parse(text) else { return nil }
        let seconds = date.timeIntervalSince(now)
        return .seconds(Int64(min(max(seconds.rounded(.up), 0), Double(century))))
    }

    private static let century: Int64 = 100 * 365 * 24 * 60 * 60
}
