// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import Testing

@Suite struct HTTPDateTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    ])
    func `a date is written as HTTP does, and read again`(seconds: Int64, text: String) {
        #expect(HTTPDate.text(seconds) == text)
        #expect(HTTPDate.seconds(text) == seconds)
        #expect(HTTPDate.seconds(iso: HTTPDate.iso(seconds)) == seconds)
    }

    @Test(arguments: [
        "", "1994-11-06T08:49:37", "1994-11-06 08:49:37Z", "1994-11-06T08:49:37+",
        "1994-00-06T08:49:37Z",
        "1994-13-06T08:49:37Z", "1994-11-32T08:49:37Z", "1994-11-06T24:49:37Z",
        "1969-11-06T08:49:37Z",
        "1994-11-6T008:49:37Z", "+994-11-06T08:49:37Z", "1994-11-06T08:-9:37Z",
        "1994-1-106T08:49:37Z", "1994-02-30T08:49:37Z", "1994-11-06T+8:49:37Z",
        "1994-11-06T08:49:60Z",
    ])
    func `what is no such time is none`(text: String) {
        #expect(HTTPDate.seconds(iso: text) == nil)
    }

    @Test(arguments: [
        "", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 31 Foo 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 99999999999999999 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 -1:49:37 GMT",
    ])
    func `what is no such date is none`(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            ("7", nil, 7), ("0", nil, 0), (" 7 ", nil, 7), ("1.5", nil, nil), ("-1", nil, nil),
            ("inf", nil, nil),
            ("nan", nil, nil), ("1e300", nil, nil), ("soon", nil, nil), ("", nil, nil),
            ("99999999999999999999999999", nil, nil), ("9223372036854775807", nil, 86_400),
            // A date counts from the date of the same answer: the clocks of both ends may differ.
            ("Sun, 06 Nov 1994 08:50:37 GMT", date, 60), ("Sun, 06 Nov 1994 08:48:37 GMT", date, 0),
            ("Sun, 06 Nov 2094 08:48:37 GMT", date, 86_400),
            ("Sun, 06 Nov 1994 08:50:37 GMT", nil, nil),
            ("Sun, 06 Nov 1994 08:50:37 GMT", "today", nil),
        ] as [(String, String?, Int64?)])
    func `a server is left alone as long as it asks, within reason`(
        text: String, date: String?, seconds: Int64?
    ) {
        var headers: HTTPHeaders = ["Retry-After": text]
        headers["Date"] = date
        #expect(headers.retryAfter == seconds)
    }
}
