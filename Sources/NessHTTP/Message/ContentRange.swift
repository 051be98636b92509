/// Which bytes of a representation a 206 holds, or how long it is according to a 416 (RFC 9110, 14.4). Only bytes are known.
package struct ContentRange: Hashable, Sendable {
    /// The first and the last byte; nil where the range was not satisfiable.
    package let bytes: ClosedRange<Int64>?
    /// The length of the whole; nil where it was not known.
    package let size: Int64?

    /// Reads the field; nil where it is not valid, or contradicts itself.
    package init?(_ value: String) {
        let words = value.split(separator: " ", omittingEmptySubsequences: true)
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
            guard size != nil else { return nil }
            bytes = nil
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else { return nil }
        if let size, last >= size { return nil }
        bytes = first...last
    }

    /// Reads a position; `nil` for one that leaves no room for a byte behind it.
    private static func number(_ text: Substring) -> Int64? { HeaderFieldValue.number(text).flatMap { $0 < .max ? $0 : nil } }
}
