import Foundation

/// Dates in the formats of HTTP (RFC 9110, 5.6.7): the current format, and two obsolete formats that must still be read.
///
/// The code does not use Foundation's formatters: they are slow to create, guess missing parts, and are not `Sendable` on every platform.
/// Letters may have any case, as in other caches and servers. A date in any other form is invalid, so that an invalid `Expires` counts as a
/// time in the past (RFC 9111, 5.3).
package enum HTTPDate {
    /// Parses any of the three formats. `nil` if the text has none of them.
    package static func parse(_ text: String) -> Date? {
        let weekday = text.prefix { $0.isLetter }
        let rest = text[weekday.endIndex...]
        if weekdays.contains(where: weekday.equalsIgnoringCase) {
            return date(rest, ", DD MMM YYYY hh:mm:ss ZZZ") ?? date(rest, " MMM dd hh:mm:ss YYYY")
        }
        return longWeekdays.contains(where: weekday.equalsIgnoringCase) ? date(rest, ", DD-MMM-YY hh:mm:ss ZZZ") : nil
    }

    /// Formats a date in the current format.
    package static func string(_ date: Date) -> String {
        let parts = calendar.dateComponents([.weekday, .day, .month, .year, .hour, .minute, .second], from: date)
        let weekday = weekdays[((parts.weekday ?? 1) - 1) % 7]
        let month = months[((parts.month ?? 1) - 1) % 12]
        let time = [parts.hour, parts.minute, parts.second].map { pad($0 ?? 0, 2) }.joined(separator: ":")
        return "\(weekday), \(pad(parts.day ?? 1, 2)) \(month) \(pad(parts.year ?? 0, 4)) \(time) GMT"
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longWeekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
        return calendar
    }()

    private static func pad(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Parses a date of a fixed form.
    /// - Parameters:
    ///   - text: The date, without its weekday.
    ///   - form: The form. Its letters stand for digits or letters of the text, and `d` for a digit or a leading space. Other characters
    ///     stand for themselves.
    private static func date(_ text: Substring, _ form: String) -> Date? {
        guard text.utf8.count == form.utf8.count else { return nil }
        var fields: [UInt8: String] = [:]
        for (byte, letter) in zip(text.utf8, form.utf8) {
            guard (65...90).contains(letter) || (97...122).contains(letter) else {
                if byte == letter { continue }
                return nil
            }
            if letter == UInt8(ascii: "d"), byte == UInt8(ascii: " "), fields[letter] == nil { continue }
            fields[letter, default: ""].unicodeScalars.append(Unicode.Scalar(byte))
        }
        func number(_ letter: Unicode.Scalar) -> Int? {
            guard let digits = fields[UInt8(ascii: letter)] else { return nil }
            return HeaderFieldValue.number(digits).map(Int.init)
        }
        guard let month = months.firstIndex(where: { fields[UInt8(ascii: "M")]?.equalsIgnoringCase($0) == true }),
            let day = number("D") ?? number("d"), (1...31).contains(day), var year = number("Y"),
            let hour = number("h"), let minute = number("m"), let second = number("s"), hour < 24, minute < 60, second <= 60,
            fields[UInt8(ascii: "Z")]?.equalsIgnoringCase("GMT") ?? true
        else { return nil }
        if !form.contains("YYYY") { year += year < 70 ? 2000 : 1900 }
        guard year > 0 else { return nil }
        var parts = DateComponents()
        (parts.year, parts.month, parts.day) = (year, month + 1, day)
        (parts.hour, parts.minute, parts.second) = (hour, minute, min(second, 59))
        guard let date = calendar.date(from: parts), calendar.component(.day, from: date) == day else { return nil }
        return date
    }
}
