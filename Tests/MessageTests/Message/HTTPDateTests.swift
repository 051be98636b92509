import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The dates of header fields.
@Suite(.inTurn(.withoutSockets)) struct HTTPDateTests {
    @Test("the three forms of a date are read (RFC 9110, 5.6.7), and no other")
    func dates() {
        let date = Date(timeIntervalSince1970: 784_111_777)
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            #expect(HTTPDate.parse(text) == date, "\(text)")
        }
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT") == Date(timeIntervalSince1970: 1_483_228_799))
        for text in [
            "", "now", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:00:00 GMT", "Fri, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994", "Mar, 06 Foo 1994 08:49:37 GMT", "Tue, 01 Jan 0050 00:00:00 GMT", "Sat Jan  1 00:00:00 0050",
        ] {
            #expect(HTTPDate.parse(text) == nil, "\(text)")
        }
    }
}
