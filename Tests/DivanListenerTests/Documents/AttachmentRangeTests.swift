// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// Several ranges of an attachment at once.
@Suite struct AttachmentRangeTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
        site.send("PUT", "/db/d/a", "0123456789", ["Content-Type": "text/plain"])
    }

    private func get(_ ranges: String) -> TestAnswer {
        site.send("GET", "/db/d/a", "", ["Range": "bytes=" + ranges])
    }

    @Test func `several ranges come in parts, in the order of the request`() throws {
        let answer = get("7-8, 0-1,-1")
        #expect(answer.status == 206)
        let type = try #require(answer.headers["Content-Type"])
        #expect(HeaderParameters(type).value == "multipart/byteranges")
        let boundary = try #require(HeaderParameters(type)["boundary"])
        #expect(answer.headers["Content-MD5"] == nil)
        let parts = [("7-8", "78"), ("0-1", "01"), ("9-9", "9")].map { place, text in
            "--\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes \(place)/10\r\n\r\n\(text)\r\n"
        }
        #expect(answer.text == parts.joined() + "--\(boundary)--")
    }

    @Test(arguments: [
        ("20-30,1-2", 206, "12"), ("20-30,40-50", 416, nil), ("0-1,x", 200, "0123456789"),
        ("0-9,0-9", 200, "0123456789"),
        ("0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9", 200, "0123456789"),
    ])
    func `ranges that make no sense together are left out, or the whole comes`(
        ranges: String, status: Int, text: String?
    ) {
        let answer = get(ranges)
        #expect(answer.status == status)
        if let text { #expect(answer.text == text) }
    }

    @Test func `a part comes only where If-Range names what is there, by its strong tag`() throws {
        let tag = try #require(site.send("GET", "/db/d/a").headers["ETag"])
        func get(_ condition: String, _ range: String = "1-2") -> TestAnswer {
            let headers: HTTPHeaders = ["Range": "bytes=" + range, "If-Range": condition]
            return site.send("GET", "/db/d/a", "", headers)
        }
        #expect(get(tag).status == 206)
        #expect(get(tag).text == "12")
        #expect(get(tag, "20-30").status == 416)
        for other in ["\"other\"", "W/\(tag)", "*", "", "Sat, 29 Oct 1994 19:43:31 GMT"] {
            for range in ["1-2", "1-2,4-5", "20-30"] {
                let answer = get(other, range)
                #expect(answer.status == 200, "\(other) \(range)")
                #expect(answer.text == "0123456789")
                #expect(answer.headers["Content-Range"] == nil)
            }
        }
    }

    @Test func `the length of the parts is the length that is said`() throws {
        let head = RequestHead(
            method: "GET", target: "/db/d/a",
            headers: ["Host": "localhost", "Range": "bytes=0-3,5-8"])
        let response = site.router.respond(ListenerRequest(head))
        guard case .stream(_, let length) = response.body else {
            Issue.record("It has no stream.")
            return
        }
        #expect(length == TestAnswer(response).bytes.count)
    }
}
