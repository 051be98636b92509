/// A character encoding of the Encoding Standard (WHATWG), which browsers implement.
///
/// A raw value is the standard's name, such as `Shift_JIS`. A response names its encoding by one of many labels: `sjis`, `x-sjis` and
/// `windows-31j` all mean ``shiftJIS``.
///
/// ```swift
/// let page = response.text(as: .shiftJIS)
/// if let encoding = TextEncoding(label: "x-sjis") { print(encoding.rawValue) }
/// ```
public enum TextEncoding: String, Sendable, Hashable, CaseIterable {
    /// UTF-8, the default.
    case utf8 = "UTF-8"
    /// UTF-16 with the low byte first. The label `utf-16` means this encoding, unless the text starts with a byte order mark.
    case utf16LE = "UTF-16LE"
    /// UTF-16 with the high byte first.
    case utf16BE = "UTF-16BE"
    /// Western European. The labels `iso-8859-1`, `latin1` and `us-ascii` mean this encoding.
    case windows1252 = "windows-1252"
    /// Central European.
    case windows1250 = "windows-1250"
    /// Cyrillic.
    case windows1251 = "windows-1251"
    /// Greek.
    case windows1253 = "windows-1253"
    /// Turkish. The label `iso-8859-9` means this encoding.
    case windows1254 = "windows-1254"
    /// Hebrew.
    case windows1255 = "windows-1255"
    /// Arabic.
    case windows1256 = "windows-1256"
    /// Baltic.
    case windows1257 = "windows-1257"
    /// Vietnamese.
    case windows1258 = "windows-1258"
    /// Thai. The labels `tis-620` and `iso-8859-11` mean this encoding.
    case windows874 = "windows-874"
    /// Central European.
    case iso88592 = "ISO-8859-2"
    /// South European.
    case iso88593 = "ISO-8859-3"
    /// North European.
    case iso88594 = "ISO-8859-4"
    /// Cyrillic.
    case iso88595 = "ISO-8859-5"
    /// Arabic.
    case iso88596 = "ISO-8859-6"
    /// Greek.
    case iso88597 = "ISO-8859-7"
    /// Hebrew, in visual order.
    case iso88598 = "ISO-8859-8"
    /// Hebrew, in logical order. Its bytes mean the same as those of `iso88598`.
    case iso88598I = "ISO-8859-8-I"
    /// Nordic.
    case iso885910 = "ISO-8859-10"
    /// Baltic.
    case iso885913 = "ISO-8859-13"
    /// Celtic.
    case iso885914 = "ISO-8859-14"
    /// Western European, with the euro sign.
    case iso885915 = "ISO-8859-15"
    /// South-Eastern European.
    case iso885916 = "ISO-8859-16"
    /// Russian.
    case koi8R = "KOI8-R"
    /// Ukrainian.
    case koi8U = "KOI8-U"
    /// Cyrillic, of DOS.
    case ibm866 = "IBM866"
    /// Western European, of the classic Mac OS.
    case macintosh = "macintosh"
    /// Cyrillic, of the classic Mac OS.
    case macCyrillic = "x-mac-cyrillic"
    /// Chinese.
    case gb18030 = "gb18030"
    /// Simplified Chinese, decoded as `gb18030`. The label `gb2312` means this encoding.
    case gbk = "GBK"
    /// Traditional Chinese, with the characters of Hong Kong.
    case big5 = "Big5"
    /// Japanese, as Windows has it.
    case shiftJIS = "Shift_JIS"
    /// Japanese, of Unix.
    case eucJP = "EUC-JP"
    /// Japanese, of mail.
    case iso2022JP = "ISO-2022-JP"
    /// Korean, as Windows has it.
    case eucKR = "EUC-KR"
    /// ASCII. Every other byte becomes a character in U+F780...U+F7FF.
    case userDefined = "x-user-defined"
    /// Encodings that browsers reject for security, such as `iso-2022-kr`. All content together becomes one U+FFFD.
    case replacement = "replacement"
    /// UTF-32, which is not in the standard. Without a byte order mark, the high byte comes first.
    case utf32 = "UTF-32"

    /// Finds the encoding that a label means. Fails for an unknown label.
    /// - Parameter label: The label, such as the `charset` of a `Content-Type`, in any case and with or without white space around it.
    public init?(label: String) {
        let bytes = label.utf8.drop(while: \.isHTMLSpace)
        let trimmed = String(decoding: bytes.reversed().drop(while: \.isHTMLSpace).reversed(), as: UTF8.self)
        guard let encoding = Self.byLabel[trimmed.asciiLowercased] else { return nil }
        self = encoding
    }
}

extension UInt8 {
    /// True for a byte that HTML and the Encoding Standard count as white space.
    var isHTMLSpace: Bool { self == 32 || (9...13).contains(self) && self != 11 }
}
