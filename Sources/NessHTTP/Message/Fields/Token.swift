/// The syntax that keeps a name or a value from beginning another line (RFC 9110, 5.5 and 5.6.2).
extension HTTPMethod {
    /// Checks that the method is a token.
    /// - Throws: `InvalidRequest`.
    func checkSyntax() throws {
        guard rawValue.isToken else { throw InvalidRequest("the method is not a token") }
    }
}

extension HTTPHeaders.Field {
    /// Checks that the name is a token, and that the value has no control character but tabs.
    /// - Throws: `InvalidRequest`.
    func checkSyntax() throws {
        guard name.isToken else {
            // Only the start is shown: in a name such as "Token: abc", the rest may be a secret value.
            let start = String(decoding: name.utf8.prefix(40).prefix { tokenBytes[Int($0)] }, as: UTF8.self)
            throw InvalidRequest("a header's name is not a token" + (start.isEmpty ? "" : ", starting with \(start)"))
        }
        if value.utf8.contains(where: { ($0 < 32 && $0 != UInt8(ascii: "\t")) || $0 == 127 }) {
            throw InvalidRequest("the value of the header \(name) has a control character")
        }
    }
}

extension String {
    /// True if the text is a token, such as a method or a field's name (RFC 9110, 5.6.2).
    var isToken: Bool { !isEmpty && utf8.allSatisfy { tokenBytes[Int($0)] } }
}

/// True for the bytes of a token. A table, because every request looks up each byte of its names.
private let tokenBytes: [Bool] = (0..<256).map { byte in
    byte > 32 && byte < 127 && !"\"(),/:;<=>?@[\\]{}".utf8.contains(UInt8(byte))
}
