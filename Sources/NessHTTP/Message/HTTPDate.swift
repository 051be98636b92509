import Foundation

/// Dates as HTTP writes them (RFC 9110, 5.6.7): the present form, and the two that are obsolete but have to be read.
///
/// Read by hand: Foundation's formatters are slow to make, guess at what is not there, and are not `Sendable` everywhere. Only the case of
/// letters is free, as caches and servers read it: a date in any other form is none, so that an `Expires` which is no date has passed
/// (RFC 9111, 5.3).
package enum HTTPDate {
    /// Reads any of the three forms; nil where the text is none of them.
    package static func parse(_ text: String) -> Date? {
        let weekday = text.prefix { $0.isLetter }
        let rest = text[weekday.endIndex...]
        if weekdays.contains(where: weekday.equalsIgnoringCase) {
            return date(rest, ", DD MMM YYYY hh:mm:ss ZZZ") ?? date(rest, " MMM dd hh:mm:ss YYYY")
        }
        return longWeekdays.contains(where: weekday.equalsIgnoringCase) ? date(rest, ", DD-MMM-YY hh:mm:ss ZZZ") : nil
    }

    /// Writes a date in the present form.
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

    /// Reads a date of a fixed form.
    /// - Parameters:
    ///   - text: The date, without its weekday.
    ///   - form: The form: letters stand for digits or letters of the text, `d` also for a space in front; all else stands for itself.
    private static func date(_ text: Substring, _ form: String) -> Date? {
        guard text.utf8.count == form.utf8.count else { return nil }
        var fields: [UInt8: String] = [:]
        for (byte, place) in zip(text.utf8, form.utf8) {
            guard (65...90).contains(place) || (97...122).contains(place) else {
                if byte == place { continue }
                return nil
            }
            if place == UInt8(ascii: "d"), byte == UInt8(ascii: " "), fields[place] == nil { continue }
            fields[place, default: ""].unicodeScalars.append(Unicode.Scalar(byte))
        }
        func number(_ place: Unicode.Scalar) -> Int? {
            guard let digits = fields[UInt8(ascii: place)] else { return nil }
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
        return calendar.date(from: parts)
    }
}
