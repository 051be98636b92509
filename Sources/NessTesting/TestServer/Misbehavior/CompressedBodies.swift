import Foundation

/// Compressed bodies, prepared in advance, so the library needs no compressor.
enum CompressedBodies {
    /// `hello` as gzip.
    static let gzipHello = decoded("H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==")
    /// `hello` as gzip, with a file name in the header.
    static let gzipHelloNamed = decoded("H4sICAAAAAACA2EudHh0AMtIzcnJBwCGphA2BQAAAA==")
    /// `hello` as gzip, with a wrong checksum.
    static let gzipHelloBadChecksum = decoded("H4sIAAAAAAACA8tIzcnJBwCHphA2BQAAAA==")
    /// `hello` as gzip, with a wrong length at the end.
    static let gzipHelloBadLength = decoded("H4sIAAAAAAACA8tIzcnJBwCGphA2BAAAAA==")
    /// `hello` as gzip inside gzip.
    static let gzipTwiceHello = decoded("H4sIAAAAAAACA5Pv5mAAASbm0x5nT55kZ2hbJmDGChQAAKdvtEUZAAAA")
    /// `hello` with zlib's framing, which is what HTTP calls deflate.
    static let zlibHello = decoded("eNrLSM3JyQcABiwCFQ==")
    /// `hello` as bare deflate.
    static let rawDeflateHello = decoded("y0jNyckHAA==")

    /// The squares of 0 to 199 with spaces between them: 1,003 bytes of text.
    static let squares = (0..<200).map { String($0 * $0) }.joined(separator: " ")
    /// `squares` as gzip, 511 bytes.
    static let gzipSquares = decoded(
        """
        H4sIAAAAAAACAyWT2QEEIQhDW7EEOQTpv7F5cX52WOUISdzLVq5ZVsvPilo5q3JdW7b3MuebyS0ZQwo5fvjeWeFJPtXkZfK9uY7POl2ryCu+zf/m/HI/5E2pL4W2\
        6WBGK1NPc5pbaEpq3NHcEoASkgaR3RQGEPoWChNi37M8di7PbSCjwktR6+zqdsgLVQT9BRrkQb9IOodmRDMtLnNjQJAbLClUGeDLBGkWmLO1rdY4m32OaeHQxtys\
        o51PKxrOanNLlcEmFXWoraZLXfr1PiKHimbm6sPcbhD0gOWK+uvguyktCsz3gn60BxlEoIRNtpy7n1Yia/uLc4vgIgOaSTZTnZmH4hSPVqLUrtj1X+kQ535Ev7eU\
        8HmiPH0izxNIqsVIwLR63lAtKBXfK+mo4zcgwh4ndq7ieucVyqmXX6LS+vXpVM9+/Xs06765iK744ZktbPNwzjPHCD87s4tv7eW7ZRD7HRKyiIkHVzF2ET/+28TF\
        m4fpPPL5qJWfrzZDfVLM4xj1P9ID76v2SCVHXc5L2jnAyX+Keh+9kJbOzhYyotTnzah25AmfAw8QDCeYs2VRcRV7FJtcBXpywuU1bCujuhwYYXp5IV9G0Boray4S\
        jWJ5OE7Izuc5u6Qvln9+v7J+v1fQpQdx39vggSrWi0He/Z7Ctg/avVukHQQAAA==
        """)

    /// 64 MiB of zeros as gzip, 66 KB: 64 times the same deflate blocks, each for 1 MiB.
    static var gzipBomb: Data {
        var mebibyte = Data([0xEC, 0xC1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xC2, 0xA0, 0xF5, 0x4F, 0x6D, 0x08, 0x5F, 0xA0])
        mebibyte.append(Data(count: 1016))
        mebibyte.append(contentsOf: [0x3E, 0x03, 0x00, 0x00, 0xFF, 0xFF])
        var bomb = Data([0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xFF])
        for _ in 0..<64 { bomb.append(mebibyte) }
        bomb.append(contentsOf: [0x03, 0x00, 0xED, 0x30, 0xEB, 0xB2, 0x00, 0x00, 0x00, 0x04])
        return bomb
    }

    /// `hello` in the format of Brotli.
    static let brotliHello = decoded("CwKAaGVsbG8D")
    /// `squares` in the format of Brotli, 448 bytes.
    static let brotliSquares = decoded(
        """
        GxwE+B0JduzCIhfkjdzB1jVmkgLG2OYGtArccKkuRPTItSTZLpRJHUVN/cK4ZOY54jVAwAIZfPBBDm7wjmhyMRCjYs4sj004HE7C5XHPPBUf4rsAbcAe9ATYA7zA5EA2\
        bBdYAm9BYjgf/AuiB7uC1OHIKBWuhFZhZDwdfoXQQ/1C9NHEpC2yROmis+lzDC4Me5iZMNpj3GaSYl5i4WJ7zU4fqx/WPWx+2O/jYM2hiyOJsylO2pzb42LCZQ93LtzN\
        cWNzv4vXEo9bPMU8+3j3wkcPnxW+dHzL/FMBJAFaBbAMiA6wFWj1QPcLtH3QiaF3C1gS8HUBxwb+HPAuMN0D4wlM9mCuDaoUyBIoLtCuYasP9v3Apgd2f8DVB35rcFzg\
        kyCVgrgNyR7kJnDdA+cL3M/By4Z/XfCR4HcLUTHCPsR/wVYP9qtgR4d9MrJVyJGQq8IpGcc6nF9BqQf1XlDxoS7G7S3cSLjXhW4bPTn0XjDdg5kJZvfwuo03KbyT8NuF\
        P2v86yP0DyE9hPuhfn3UWRPlIloi/hRNtWm8R7MTUveQ5kK6HO2zaX8XuSSyt8gbU9pHyQudeuhcoVsdfctSAQ==
        """)
    /// 64 MiB of zeros in 106 bytes of Brotli.
    static let brotliBomb = decoded(
        """
        y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v0f////4J8AiMMCAN37P/7//8E/ARCHBQC693/8//+DfwIgDgsAdO//+P//B/8EQBwWAOje//H//w/+CYA4LADQvf/L//8/\
        /BMAcVgAoHv/Bw==
        """)

    /// `hello` in the format of Zstandard.
    static let zstandardHello = decoded("KLUv/SQFKQAAaGVsbG+jbZ+I")
    /// `squares` in the format of Zstandard, 482 bytes.
    static let zstandardSquares = decoded(
        """
        KLUv/WQdA6UOANpBPAcJsOskSYhwzphFbQBxAG8AsxUDUEyTWCjik8YUjKcQE68fWBeoTqAOMJ0gXSD6QTuRfQqd4viJcaHiNOIAxNnhIsKPgtOVT8tpyM+AS4GTboCb\
        YovV15qKntJU83UWkykygEyKpfFZp+nTTsePuAhnOQCnLfTJFE8nfsscAuVslAOwnGbkQkR+IuQUJZ8COdGAHxBwAQFOKHAAAE6wW4DuA7mJvadwU5h9QraQ2LTaALTZ\
        q0WqPpqaLuppaxqoz4yWFk0aGkBoSmkxoK83U9U8pZlK5mvMYpwpMAOcTCpZSvKZyDQhTyvTgXx0sYhF0qcgnVjRDyS6AKMTrB1g2gltFzj2A2InBvsU2CkK+olAFyJ0\
        mh0HoONsHBeB40dlnE6MT2uc5oqfUXGpFCexOMARpxBxsSB+JXEqGz6l4VQx/MrhYiacQsIBRDiJwqUX/IyC00jwaYPTXflRlYtMBLpYoBcfmMVEsXgKFlNQxSetWMgo\
        pgnFAKSYrYlFYuKjk5huJJ5WYhqL+EwiljJiUjUGkMYUaCxGjK/BmOognhLEVIX4etfF5jql1wHOOmmsS2v9zKrTTPVpq9MZ9aOhLlLq7E0HoOm0Thc66ScknSICAHjD\
        t/k=
        """)
    /// 64 MiB of zeros in 2 KB of Zstandard: 512 blocks that each repeat a byte (RFC 8878, 3.1.1.2).
    static var zstandardBomb: Data {
        var bomb = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38])
        for number in 1...512 { bomb.append(contentsOf: [number == 512 ? 3 : 2, 0x00, 0x10, 0x00]) }
        return bomb
    }

    private static func decoded(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
}
