/// The field `Content-Range` (RFC 9110, section 14.4): the bytes that a 206 contains, or the length that a 416 reports. Only the unit
/// `bytes` is supported.
package struct ContentRange: Hashable, Sendable {
    /// The positions of the first and the last byte; `nil` for a range that cannot be satisfied.
    package let bytes: ClosedRange<Int64>?
    /// The length of the whole representation; `nil` if the server does not state it.
    package let size: Int64?

    /// Reads the field; `nil` if the value is malformed or contradicts itself. Both properties are `nil` for `bytes */*`.
    package init?(_ value: String) {
        let words = value.split(separator: " ")
        guard words.count == 2, words[0].equalsIgnoringCase("bytes") else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[1] == "*" {
            size = nil
        } else {
            guard let size = Self.number(halves[1]) else { return nil }
            self.size = size
        }
        if halves[0] == "*" {
            bytes = nil
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else { return nil }
        if let size, last >= size { return nil }
        bytes = first...last
    }

    /// Reads a position. Returns `nil` for `Int64.max`, after which there is no position.
    private static func number(_ text: Substring) -> Int64? { HeaderFieldValue.number(text).flatMap { $0 < .max ? $0 : nil } }
}
