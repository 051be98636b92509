import Foundation

/// The field `Retry-After` (RFC 9110, section 10.2.3): a number of seconds, or a date.
package enum RetryAfter {
    /// Reads the field.
    /// - Parameters:
    ///   - value: The field's value.
    ///   - now: The current date, from which a date in the field is counted.
    /// - Returns: The time to wait, from zero to a century; `nil` if the value is neither a number nor a date.
    package static func duration(_ value: String, now: Date) -> Duration? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if let seconds = HeaderFieldValue.number(text) { return .seconds(min(seconds, century)) }
        guard let date = HTTPDate.parse(text) else { return nil }
        let seconds = date.timeIntervalSince(now)
        return .seconds(Int64(min(max(seconds.rounded(.up), 0), Double(century))))
    }

    private static let century: Int64 = 100 * 365 * 24 * 60 * 60
}
