// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON

extension FuzzTarget {
    static let http: [FuzzTarget] = [
        FuzzTarget(
            "multipart",
            seeds: [
                "9--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\n\r\nhello\r\n--b--",
                "x--b\nContent-Encoding: gzip\n\nx\n--b--",
                "0--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n--c--\r\n--b--",
            ]
        ) { bytes in
            let (whole, parts) = cut(bytes)
            require(multipart([whole]) == multipart(parts), "A cut changes the parts.")
        },
        FuzzTarget(
            "feed",
            seeds: [
                #"5{"results":[{"seq":"1-x","id":"a","changes":[{"rev":"1-a"}]}],"last_seq":"1-x","pending":0}"#,
                "a{\"seq\":1,\"id\":\"a\",\"changes\":[]}\n\n{\"last_seq\":1}\n",
                "zid: 1\ndata: {\"seq\":1}\n\n:\nevent: heartbeat\n\n",
            ]
        ) { bytes in
            let (whole, parts) = cut(bytes)
            for form in [ChangesFeedParser.Form.normal, .continuous, .eventSource] {
                require(feed(form, [whole]) == feed(form, parts), "A cut changes the rows.")
            }
        },
        FuzzTarget(
            "gzip",
            seeds: [[0, 31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 75, 4, 0, 67, 190, 183, 232, 1, 0, 0, 0]]
        ) {
            bytes in
            let (whole, parts) = cut(bytes)
            require(inflated([whole]) == inflated(parts), "A cut changes what is decoded.")
        },
        FuzzTarget(
            "websocket",
            seeds: [
                [0, 0x81, 0x05, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x89, 0x00, 0x88, 0x02, 0x03, 0xE8],
                [1, 0x01, 0x01, 0x5B, 0x8A, 0x00, 0x80, 0x01, 0x5D],
                [2, 0x82, 0x7E, 0x00, 0x03, 0x61, 0x62, 0x63],
                [3, 0x82, 0x7F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x61, 0x62],
            ]
        ) { bytes in
            let (whole, parts) = cut(bytes)
            require(frames([whole]) == frames(parts), "A cut changes the messages.")
        },
        FuzzTarget(
            "heads",
            seeds: [
                "http://ann:p%40ss@host:5984/db/a%2Fb?x=1#f", "https://[fe80::1%25eth0]/",
                "multipart/related; boundary=\"a\\\"b\"",
                "attachment; filename*=UTF-8''%e2%82%ac; filename=\"x\"",
                "Thu, 01 Jan 1970 00:00:00 GMT",
                "a=b; Domain=.example.org; Path=/x; Max-Age=99999999999; Secure; HttpOnly",
                "//host/path",
            ]
        ) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let url = try? HTTPURL(text) {
                require(
                    (try? HTTPURL(url.description))?.description == url.description,
                    "A URL changes.")
                _ = HTTPCookieJar.Cookie(text, from: url)
            }
            if let base = try? HTTPURL("http://host/a/b") {
                _ = HTTPCookieJar.Cookie(text, from: base)
            }
            _ = HeaderParameters(text)["boundary"]
            _ = HTTPDate.seconds(text)
            _ = PercentEncoding.decode(text)
            _ = JSONOutline(bytes, of: ["_id", "_rev", "docs"])
        },
    ]

    private static func multipart(_ pieces: [ArraySlice<UInt8>]) -> [String] {
        var reader = MultipartReader(boundary: "b")
        var events: [String] = []
        var content: [UInt8] = []
        do {
            for piece in pieces {
                reader.push(piece)
                while let event = try reader.next() {
                    // Pieces of content come as they may.
                    if case .bytes(let bytes) = event {
                        content += bytes
                    } else {
                        events.append("\(content)")
                        content = []
                        events.append("\(event)")
                    }
                }
            }
            try reader.finish()
        } catch { return ["\(error)"] }
        return events
    }

    private static func feed(_ form: ChangesFeedParser.Form, _ pieces: [ArraySlice<UInt8>])
        -> [String]
    {
        var parser = ChangesFeedParser(form)
        var events: [String] = []
        do {
            for piece in pieces {
                parser.push(piece)
                while let event = try parser.next() { events.append("\(event)") }
            }
            try parser.finish()
        } catch { events.append("an error") }
        return events
    }

    private static func frames(_ pieces: [ArraySlice<UInt8>]) -> [String] {
        var reader = WebSocketFrames(limit: 1 << 16)
        var events: [String] = []
        do {
            for piece in pieces {
                reader.push(piece)
                while let event = try reader.next() { events.append("\(event)") }
            }
        } catch { events.append("an error") }
        return events
    }

    private static func inflated(_ pieces: [ArraySlice<UInt8>]) -> [UInt8]? {
        let inflater = GzipInflater()
        var bytes: [UInt8] = []
        do {
            for piece in pieces {
                inflater.push(Array(piece))
                while let more = try inflater.next() {
                    bytes += more
                    guard bytes.count < 1 << 20 else { return bytes }
                }
            }
            try inflater.finish()
        } catch { return nil }
        return bytes
    }
}
