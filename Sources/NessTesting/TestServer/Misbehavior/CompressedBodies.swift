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

    private static func decoded(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
}
