extension TextEncoding {
    /// The number of Foundation's encoding for the units that are not ASCII (`CFStringEncodings`). Zero if Foundation is not needed.
    var foundationNumber: UInt32 { Self.numbers[self] ?? 0 }

    private static let numbers = Dictionary(uniqueKeysWithValues: table.map { ($0.encoding, $0.number) })

    static let byLabel = Dictionary(
        uniqueKeysWithValues: table.flatMap { row in
            row.labels.split(whereSeparator: \.isWhitespace).map { (String($0), row.encoding) }
        })

    /// The labels of the Encoding Standard, section 4.2.
    private static let table: [(encoding: TextEncoding, number: UInt32, labels: String)] = [
        (.utf8, 0x0, "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"),
        (.utf16LE, 0x0, "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le"),
        (.utf16BE, 0x0, "unicodefffe utf-16be"),
        (
            .windows1252, 0x500,
            """
            ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987
            l1 latin1 us-ascii windows-1252 x-cp1252
            """
        ),
        (.windows1250, 0x501, "cp1250 windows-1250 x-cp1250"),
        (.windows1251, 0x502, "cp1251 windows-1251 x-cp1251"),
        (.windows1253, 0x503, "cp1253 windows-1253 x-cp1253"),
        (
            .windows1254, 0x504,
            """
            cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254
            """
        ),
        (.windows1255, 0x505, "cp1255 windows-1255 x-cp1255"),
        (.windows1256, 0x506, "cp1256 windows-1256 x-cp1256"),
        (.windows1257, 0x507, "cp1257 windows-1257 x-cp1257"),
        (.windows1258, 0x508, "cp1258 windows-1258 x-cp1258"),
        (.windows874, 0x41D, "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874"),
        (.iso88592, 0x202, "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2"),
        (.iso88593, 0x203, "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"),
        (.iso88594, 0x204, "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"),
        (.iso88595, 0x205, "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"),
        (
            .iso88596, 0x206,
            """
            arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127
            iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
            """
        ),
        (
            .iso88597, 0x207,
            """
            csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987
            sun_eu_greek
            """
        ),
        (
            .iso88598, 0x208,
            """
            csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988
            visual
            """
        ),
        (.iso88598I, 0x208, "csiso88598i iso-8859-8-i logical"),
        (.iso885910, 0x20A, "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6"),
        (.iso885913, 0x20D, "iso-8859-13 iso8859-13 iso885913"),
        (.iso885914, 0x20E, "iso-8859-14 iso8859-14 iso885914"),
        (.iso885915, 0x20F, "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9"),
        (.iso885916, 0x210, "iso-8859-16"),
        (.koi8R, 0xA02, "cskoi8r koi koi8 koi8-r koi8_r"),
        (.koi8U, 0xA08, "koi8-ru koi8-u"),
        (.ibm866, 0x41B, "866 cp866 csibm866 ibm866"),
        (.macintosh, 0x0, "csmacintosh mac macintosh x-mac-roman"),
        (.macCyrillic, 0x7, "x-mac-cyrillic x-mac-ukrainian"),
        (.gb18030, 0x632, "gb18030"),
        (.gbk, 0x632, "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk"),
        (.big5, 0xA06, "big5 big5-hkscs cn-big5 csbig5 x-x-big5"),
        (.shiftJIS, 0x420, "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis"),
        (.eucJP, 0x420, "cseucpkdfmtjapanese euc-jp x-euc-jp"),
        (.iso2022JP, 0x420, "csiso2022jp iso-2022-jp"),
        (.eucKR, 0x422, "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"),
        (.userDefined, 0x0, "x-user-defined"),
        (.replacement, 0x0, "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement"),
        (.utf32, 0x0, "utf-32"),
    ]
}
