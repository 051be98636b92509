import Foundation

/// Dates in the formats of HTTP (RFC 9110, 5.6.7): the current format, and two obsolete formats that must still be read.
///
/// Letters may have any case, as in other caches and servers. A date in any other form is invalid, so that an invalid `Expires` counts as a
/// time in the past (RFC 9111, 5.3).
///
/// In a year of two digits, 70 to 99 mean 1970 to 1999, and 00 to 69 mean 2000 to 2069, as in cookies. By RFC 9110 the limit would move
/// with the current year.
package enum HTTPDate {
    /// Parses any of the three formats. `nil` if the text has none of them.
    package static func parse(_ text: String) -> Date? {
        let shape = String(decoding: text.utf8.map(symbol), as: UTF8.self)
        let isOtherZone = shape.utf8.last == UInt8(ascii: "a") && !text.suffix(3).equalsIgnoringCase("GMT")
        guard shapes.contains(shape), !isOtherZone else { return nil }
        // `CookieDate` would read a year below 100 as a year of this century or the last.
        if let year = shape.utf8.firstRange(of: "0000".utf8), text.utf8[year.lowerBound...].starts(with: "00".utf8) { return nil }
        // The name of the weekday is not checked, because it follows from the date. A leap second counts as the second before it.
        return CookieDate.parse(String(text.drop { $0 != " " }).replacing(":60 ", with: ":59 "))
    }

    /// Returns the symbol of a byte in `shapes`.
    private static func symbol(of byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt8(ascii: "a")
        default: byte
        }
    }

    /// The formats, with `0` for a digit and `a` for a letter. The full names of the days have six to nine letters.
    private static let shapes: Set<String> = [
        "aaa, 00 aaa 0000 00:00:00 aaa", "aaa aaa 00 00:00:00 0000", "aaa aaa  0 00:00:00 0000", "aaaaaa, 00-aaa-00 00:00:00 aaa",
        "aaaaaaa, 00-aaa-00 00:00:00 aaa", "aaaaaaaa, 00-aaa-00 00:00:00 aaa", "aaaaaaaaa, 00-aaa-00 00:00:00 aaa",
    ]
}
