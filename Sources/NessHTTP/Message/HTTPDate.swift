import Foundation

/// Dates as HTTP writes them (RFC 9110, 5.6.7): the present form, and the two that are obsolete but have to be read.
///
/// Read by hand: Foundation's formatters are slow to make, guess at what is not there, and are not `Sendable` everywhere.
package enum HTTPDate {
    /// Reads any of the three forms; nil where the text is none of them.
    package static func parse(_ text: String) -> Date? {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT — and with a year of two digits: Sunday, 06-Nov-94 08:49:37 GMT
        case 6 where words[5] == "GMT": return date(day: words[1], month: words[2], year: words[3], time: words[4])
        // Sun Nov  6 08:49:37 1994
        case 5: return date(day: words[2], month: words[1], year: words[4], time: words[3])
        default: return nil
        }
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
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
        return calendar
    }()

    private static func pad(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func date(day: String, month: String, year: String, time: String) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), digits: 2) }
        guard let month = months.firstIndex(of: month), let day = number(day, digits: 2), (1...31).contains(day),
            var year = number(year, digits: 4), clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            hour < 24, minute < 60, second <= 60
        else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        var parts = DateComponents()
        (parts.year, parts.month, parts.day) = (year, month + 1, day)
        (parts.hour, parts.minute, parts.second) = (hour, minute, second)
        return calendar.date(from: parts)
    }

    private static func number(_ text: String, digits: Int) -> Int? {
        guard !text.isEmpty, text.utf8.count <= digits, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }
}
