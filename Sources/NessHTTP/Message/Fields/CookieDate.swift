import Foundation

/// Parses the dates of cookies by the grammar that browsers share (RFC 6265bis, 5.1.1): words in any order, separated by characters other
/// than letters, digits and colons. `HTTPDate` uses it for dates whose form it has checked.
///
/// The code does not use Foundation's formatters: they are slow to create, guess missing parts, and are not `Sendable` on every platform.
package enum CookieDate {
    /// Reads a date.
    /// - Returns: `nil` if a part is missing or no such date exists.
    package static func parse(_ text: String) -> Date? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for word in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let read = readTime(word) {
                time = read
            } else if day == nil, let read = number(word, 1...2) {
                day = read
            } else if month == nil, let read = months.firstIndex(of: String(decoding: word.prefix(3), as: UTF8.self).lowercased()) {
                month = read
            } else if year == nil, let read = number(word, 2...4) {
                year = read < 70 ? read + 2_000 : read < 100 ? read + 1_900 : read
            }
        }
        guard let time, let day, let month, let year, year >= 1_601, time.hour < 24, time.minute < 60, time.second < 60 else {
            return nil
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(year - 1_900), Int32(month), Int32(day))
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(time.hour), Int32(time.minute), Int32(time.second))
        let seconds = timegm(&parts)
        // `timegm` turns 31 February into 3 March.
        return parts.tm_mday == day ? Date(timeIntervalSince1970: TimeInterval(seconds)) : nil
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Parses hours, minutes and seconds of one or two digits each. Characters after them are ignored.
    private static func readTime(_ word: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
        let parts = word.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(\.isDigit), parts[1].allSatisfy(\.isDigit), let hour = number(parts[0], 1...2),
            let minute = number(parts[1], 1...2), let second = number(parts[2], 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    /// Parses the number at the start of a word, if it has an allowed number of digits. Characters after it are ignored.
    private static func number(_ word: Substring.UTF8View, _ length: ClosedRange<Int>) -> Int? {
        let digits = word.prefix(while: \.isDigit)
        return length.contains(digits.count) ? Int(Substring(digits)) : nil
    }
}
