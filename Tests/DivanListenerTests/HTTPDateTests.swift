// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanListener

@Suite struct HTTPDateTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    ])
    func `a date is written as HTTP does`(seconds: Int64, text: String) {
        #expect(HTTPDate.text(seconds) == text)
    }
}
