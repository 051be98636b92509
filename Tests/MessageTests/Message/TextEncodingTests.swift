import Foundation
import NessHTTP
import TestSupport
import Testing

/// Tests the encodings of the Encoding Standard, against texts of Python's codecs and the steps of the standard's decoders.
@Suite(.inTurn) struct TextEncodingTests {
    /// Bytes in Base64, and the text that Python's codec makes of them.
    static let texts: [(encoding: TextEncoding, bytes: String, text: String)] = [
        (.utf8, "5pel5pysIPCfmIA=", "日本 😀"),
        (.ibm866, "oKOmqayvsrW4u77BxMfKzdDT1tnc3+Ll6A==", "агжймп▓╡╕╗╛┴─╟╩═╨╙╓┘▄▀тхш"),
        (.iso88592, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "Ą¤§ŞŽą´ˇş˝ŔĂĆÉĚĎŇŐŘŰŢáäçę"),
        (.iso88593, "oaSoq7Cztrm8wMTHys3R1Nfa3eDk5+rt8Q==", "Ħ¤¨Ğ°³ĥıĵÀÄÇÊÍÑÔ×ÚŬàäçêíñ"),
        (.iso88594, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "Ą¤§ĒŽą´ˇēŊĀÃÆÉĖĪŌÕØÛŪáäįę"),
        (.iso88595, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "ЁЄЇЊЎБДЗКНРУЦЩЬЯвеилосфчъ"),
        (.iso88596, "pKy7v8HCw8TFxsfIycrLzM3Oz9DR0tPU1Q==", "¤،؛؟ءآأؤإئابةتثجحخدذرزسشص"),
        (.iso88597, "oaSnqq+ytbi7vsHEx8rN0NTX2t3g4+bp7A==", "‘€§ͺ―²΅Έ»ΎΑΔΗΚΝΠΤΧΪέΰγζιμ"),
        (.iso88598, "oqSmqKqsr7Gztbe5u73f4ePl5+nr7e/x8w==", "¢¤¦¨×¬¯±³µ·¹»½‗בדוחיכםןסף"),
        (.iso88598I, "oqSmqKqsr7Gztbe5u73f4ePl5+nr7e/x8w==", "¢¤¦¨×¬¯±³µ·¹»½‗בדוחיכםןסף"),
        (.iso885910, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "ĄĪ§ŠŪąī·š―ĀÃÆÉĖÏŌÕØÛÞáäįę"),
        (.iso885913, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "”¤§Ŗ®±“·ŗ½ĄĆĘÉĢĻŅÕŲŪŽįäēź"),
        (.iso885914, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "ḂĊ§Ẃ®ḟṀṖẃẄÀÃÆÉÌÏÒÕØÛŶáäçê"),
        (.iso885915, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "¡€§ª®±Ž·ºœÀÃÆÉÌÏÒÕØÛÞáäçê"),
        (.iso885916, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "Ą€§Șź±Ž·șœÀĂÆÉÌÏÒŐŰÛȚáäçê"),
        (.koi8R, "oKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8", "═╓╗╛╟╢╦╪юдхлптьэЮДХЛПТЬЭ"),
        (.koi8U, "oKOmqayws7a5vMDDxsnMz9LV2Nve4eTn6g==", "═ёі╘╛╟ЁІ╧╪юцфилоруьшчАДГЙ"),
        (.macintosh, "oKOmqayvsrW4u77BxMfLztHU19rd4OPm6Q==", "†£¶©¨Ø≤µ∏ªæ¡ƒ«ÀŒ—‘◊⁄›‡„ÊÈ"),
        (.windows874, "oaOlp6mrra+xs7W3ubu9v8HDxcfJy83P8Q==", "กฃฅงฉซญฏฑณตทนปฝฟมรลวษหอฯ๑"),
        (.windows1250, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "ˇ¤§Ş®±´·ş˝ŔĂĆÉĚĎŇŐŘŰŢáäçę"),
        (.windows1251, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "Ў¤§Є®±ґ·єЅАГЖЙМПТХШЫЮбдзк"),
        (.windows1252, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "¡¤§ª®±´·º½ÀÃÆÉÌÏÒÕØÛÞáäçê"),
        (.windows1253, "oaSnq6+ytbi7vsHEx8rN0NTX2t3g4+bp7A==", "΅¤§«―²µΈ»ΎΑΔΗΚΝΠΤΧΪέΰγζιμ"),
        (.windows1254, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "¡¤§ª®±´·º½ÀÃÆÉÌÏÒÕØÛŞáäçê"),
        (.windows1255, "oaOlp6mrrrCytLa4ury+1NbY4ePl5+nr7Q==", "¡£¥§©«®°²´¶¸÷¼¾װײ״בדוחיכם"),
        (.windows1256, "oaSnqq6xtLe6vcDDxsnMz9LV2Nve4eTn6g==", "،¤§ھ®±´·؛½ہأئةجدزصطغقلنçê"),
        (.windows1257, "oqaprLCztrm8v8LFyMvO0dTX2t3g4+bp7A==", "¢¦©¬°³¶¹¼æĀÅČĖĪŃŌ×ŚŻąćęéģ"),
        (.windows1258, "oaSnqq6xtLe6vcDDxsnN0NTX2t3h5Ofq7g==", "¡¤§ª®±´·º½ÀĂÆÉÍĐÔ×ÚƯáäçêî"),
        (.macCyrillic, "oKOmqayvsrW4u77BxMfLztHU19rd4OPm6Q==", "†£¶©ђѓ≤µЄїЊЅƒ«Ћќ—‘„ЏЁагжй"),
        (.gbk, "vPLM5dbQzsSjrLex83fX1qGj", "简体中文，繁體字。"),
        (.gb18030, "xOO6w6OsysC956Gj5mei44E01jCUOfw2gTnuOQ==", "你好，世界。鎔€ᠠ😀㐀"),
        (.big5, "wWPF6aSkpOWhQZ3voUM=", "繁體中文，嘅。"),
        (.eucJP, "xvzL3LjsoaKlq6W/paulyqGijsqO3Y62jrihoo+woY/rzqGj", "日本語、カタカナ、ﾊﾝｶｸ、丂鱩。"),
        (.iso2022JP, "GyRCRnxLXDhsGyhCIGFuZCAbJEI0QTt6ISMbKEI=", "日本語 and 漢字。"),
        (.shiftJIS, "k/qWe4zqgUGHQO7gyt22uIFBgWCBQg==", "日本語、①髙ﾊﾝｶｸ、～。"),
        (.eucKR, "x9Gxub7uIIxjueawosfPLg==", "한국어 똠방각하."),
        (.utf16BE, "ZeVnLAAg2D3eAA==", "日本 😀"),
        (.utf16LE, "5WUsZyAAPdgA3g==", "日本 😀"),
    ]

    @Test("each encoding of the standard is read correctly", arguments: texts)
    func text(encoding: TextEncoding, bytes: String, text: String) throws {
        let bytes = try #require(Data(base64Encoded: bytes))
        #expect(encoding.decode(bytes).unicodeScalars.elementsEqual(text.unicodeScalars))
        #expect(encoding.decode(Data("<a> \u{7F}".utf8)) == "<a> \u{7F}" || encoding == .utf16LE || encoding == .utf16BE)
    }

    @Test("every encoding is tested with characters, except three")
    func everyEncoding() {
        #expect(Set(Self.texts.map(\.encoding)).union([.userDefined, .replacement, .utf32]) == Set(TextEncoding.allCases))
    }

    /// Labels, and Python's codecs of the same name.
    static let labels: [(encoding: TextEncoding, labels: String)] = [
        (.utf8, "utf-8 utf8 UTF8 unicode-1-1-utf-8"), (.utf16LE, "utf-16 utf-16le unicode ucs-2"), (.utf16BE, "utf-16be"),
        (
            .windows1252,
            "iso-8859-1 iso8859-1 iso_8859-1:1987 latin1 LATIN1 l1 us-ascii ascii cp1252 x-cp1252 windows-1252 cp819 iso-ir-100"
        ),
        (.iso88592, "iso-8859-2 latin2 l2 csisolatin2 iso-ir-101"), (.iso88593, "iso-8859-3 latin3 l3"), (.iso88594, "iso-8859-4 latin4"),
        (.iso88595, "iso-8859-5 cyrillic iso-ir-144"), (.iso88596, "iso-8859-6 arabic asmo-708 ecma-114"),
        (.iso88597, "iso-8859-7 greek greek8 elot_928"), (.iso88598, "iso-8859-8 hebrew visual"), (.iso88598I, "iso-8859-8-i logical"),
        (.iso885910, "iso-8859-10 latin6 l6"), (.iso885913, "iso-8859-13"), (.iso885914, "iso-8859-14"), (.iso885915, "iso-8859-15 l9"),
        (.iso885916, "iso-8859-16"), (.koi8R, "koi8-r koi8 koi cskoi8r"), (.koi8U, "koi8-u koi8-ru"),
        (.macintosh, "macintosh mac x-mac-roman"),
        (.macCyrillic, "x-mac-cyrillic x-mac-ukrainian"), (.ibm866, "ibm866 866 cp866"), (.windows874, "windows-874 tis-620 iso-8859-11"),
        (.windows1250, "windows-1250 cp1250"), (.windows1251, "windows-1251 cp1251"), (.windows1253, "windows-1253 cp1253"),
        (.windows1254, "windows-1254 iso-8859-9 latin5 l5"), (.windows1255, "windows-1255"), (.windows1256, "windows-1256"),
        (.windows1257, "windows-1257"), (.windows1258, "windows-1258"), (.gbk, "gbk gb2312 x-gbk chinese gb_2312-80"),
        (.gb18030, "gb18030 GB18030"), (.big5, "big5 big5-hkscs cn-big5"), (.eucJP, "euc-jp x-euc-jp"), (.iso2022JP, "iso-2022-jp"),
        (.shiftJIS, "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j ms932"), (.eucKR, "euc-kr ks_c_5601-1987 korean windows-949"),
        (.userDefined, "x-user-defined"), (.replacement, "iso-2022-kr hz-gb-2312 iso-2022-cn"),
    ]

    @Test("each label means its encoding, in any case and with space around it", arguments: labels)
    func label(encoding: TextEncoding, labels: String) {
        for label in labels.split(separator: " ") {
            for spelling in [String(label), label.uppercased(), " \t\(label)\n"] {
                #expect(TextEncoding(label: spelling) == encoding, "\(label)")
            }
        }
        #expect(TextEncoding(label: encoding.rawValue) == encoding)
    }

    @Test(
        "a label that is not in the standard is unknown",
        arguments: ["", " ", "utf-7", "utf 8", "\u{212A}oi8-r", "latin-1", "cp437", "\u{0B}utf-8"])
    func unknown(label: String) {
        #expect(TextEncoding(label: label) == nil)
    }

    /// Labels, bytes, and the text that the standard's decoder makes of them.
    static let invalid: [(label: String, bytes: String, text: String)] = [
        ("gbk", "81 41 42", "\u{4E04}B"),
        ("gb18030", "81 ff 41", "\u{FFFD}A"),
        ("gb18030", "81 30 41", "\u{FFFD}0A"),
        ("gb18030", "81 30 81 41", "\u{FFFD}0\u{4E04}"),
        ("gb18030", "e3 32 9a 36 41", "\u{FFFD}A"),
        ("gb18030", "81 30 81", "\u{FFFD}"),
        ("gb18030", "80 ff 41", "€\u{FFFD}A"),
        ("big5", "81 41", "\u{FFFD}A"),
        ("big5", "a4", "\u{FFFD}"),
        ("shift_jis", "81 3c 62 3e", "\u{FFFD}<b>"),
        ("shift_jis", "fd 80 a0 41", "\u{FFFD}\u{80}\u{FFFD}A"),
        ("shift_jis", "81 ff 41", "\u{FFFD}A"),
        ("euc-jp", "8f a1 41", "\u{FFFD}A"),
        ("euc-jp", "a1 41", "\u{FFFD}A"),
        ("euc-jp", "8e e0 41", "\u{FFFD}A"),
        ("euc-jp", "8f a1 a1 41", "\u{FFFD}A"),
        ("euc-kr", "c9 a1 41", "\u{FFFD}A"),
        ("euc-kr", "81 5b", "\u{FFFD}["),
        ("iso-2022-jp", "1b 24 42 46 7c 46 1b 28 42 61", "\u{65E5}\u{FFFD}a"),
        ("iso-2022-jp", "1b 24 42 46", "\u{FFFD}"),
        ("iso-2022-jp", "1b 28 4a 5c 7e 1b 28 49 31 61 1b 28 42 e4 0e", "\u{A5}‾\u{FF71}\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("iso-2022-jp", "1b 24 42 1b 28 42 41", "\u{FFFD}A"),
        ("iso-2022-jp", "1b 41", "\u{FFFD}A"),
        ("windows-1252", "81 8d 80 e4", "\u{81}\u{8D}€ä"),
        ("windows-874", "81 db a1", "\u{81}\u{FFFD}ก"),
        ("iso-8859-6", "a1 c7", "\u{FFFD}ا"),
        ("iso-8859-3", "a5 41", "\u{FFFD}A"),
        ("utf-8", "e2 82 41 f0 9f 98 ff", "\u{FFFD}A\u{FFFD}\u{FFFD}"),
        ("utf-16le", "00 d8 41 00 00 dc 42 00", "\u{FFFD}A\u{FFFD}B"),
        ("utf-16be", "d8 00 00 41 00", "\u{FFFD}A\u{FFFD}"),
        ("utf-16le", "00 d8 41", "\u{FFFD}"),
        ("x-user-defined", "41 80 ff", "A\u{F780}\u{F7FF}"),
        ("iso-2022-kr", "41 42", "\u{FFFD}"),
        ("hz-gb-2312", "", ""),
    ]

    @Test("each invalid unit becomes a U+FFFD, and an ASCII byte after it is kept", arguments: invalid)
    func malformed(label: String, bytes: String, text: String) throws {
        let bytes = Data(bytes.split(separator: " ").compactMap { UInt8($0, radix: 16) })
        let encoding = try #require(TextEncoding(label: label))
        #expect(encoding.decode(bytes).unicodeScalars.elementsEqual(text.unicodeScalars))
        // The indices of a slice do not start at zero.
        #expect(encoding.decode((Data("??".utf8) + bytes).dropFirst(2)).unicodeScalars.elementsEqual(text.unicodeScalars))
    }

    @Test("invalid bytes alone take linear time", arguments: [TextEncoding.gb18030, .eucJP, .iso2022JP, .windows1252, .utf16LE])
    func hostile(encoding: TextEncoding) {
        let count = 32 << 10
        for bytes in [[0xFF], [0x81, 0x30], [0x1B, 0x24, 0x42], [0xD8, 0x00, 0xD8]] as [[UInt8]] {
            let text = encoding.decode(Data((0..<count).map { bytes[$0 % bytes.count] }))
            #expect(text.unicodeScalars.count <= count)
        }
    }
}
