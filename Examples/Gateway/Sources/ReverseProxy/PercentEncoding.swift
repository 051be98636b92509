extension Collection<UInt8> {
    /// Returns true if each byte is among those allowed, or belongs to a complete percent escape (RFC 3986, 2.1).
    func isPercentEncoded(allowing allowed: Set<UInt8>) -> Bool {
        let parts = split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false)
        func isEscape(_ part: SubSequence) -> Bool { part.prefix(2).count == 2 && part.prefix(2).allSatisfy(hexadecimal.contains) }
        return parts.allSatisfy { $0.allSatisfy(allowed.contains) } && parts.dropFirst().allSatisfy(isEscape)
    }
}

private let hexadecimal = Set("0123456789abcdefABCDEF".utf8)
