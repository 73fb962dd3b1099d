// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanListener

/// The attachments of a `multipart/related` body whose content follows.
@Suite struct FollowingNameTests {
    private func names(_ entries: String) -> [String] {
        MultipartDocument.following(in: Array("{\"a\":1,\"_attachments\":{\(entries)}}".utf8))
    }

    @Test func `of two entries of one name the last one counts, and its place`() {
        let (here, follows) = (#"{"data":""}"#, #"{"follows":true}"#)
        #expect(names(#""a":\#(follows),"b":\#(follows),"a":\#(follows)"#) == ["b", "a"])
        #expect(names(#""a":\#(follows),"b":\#(follows),"a":\#(here)"#) == ["b"])
        #expect(names(#""a":\#(here),"b":\#(follows),"a":\#(follows)"#) == ["b", "a"])
        #expect(names(#""\u00e9":\#(follows),"e\u0301":\#(follows)"#) == ["\u{E9}", "e\u{301}"])
        #expect(names("") == [])
    }

    @Test func `entries that stand there twice take time in proportion`() {
        let factor = Growth.ofEightTimes(500) { count in
            let entries = (0..<count).map { "\"a\($0)\":{\"follows\":true}" }
            let found = names((entries + entries).joined(separator: ","))
            #expect(found.count == count)
        }
        #expect(factor < Growth.most)
    }
}
