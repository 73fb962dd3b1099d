// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Heads with bytes that are no UTF-8: none of them is taken for another one.
@Suite struct RawByteTests {
    /// A site with one document.
    private func serve(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> ServedSite {
        let served = try ServedSite(edit)
        try served.database.put("x", ["a": 1], parent: nil)
        return served
    }

    private static let host = "Host: localhost"

    @Test func `a target that is no UTF-8 is refused, whatever it would change`() throws {
        let served = try serve()
        for (method, target) in [
            ("GET", "/db/~"), ("PUT", "/db/~"), ("GET", "/~"), ("GET", "/db/x?rev=~"),
            ("PUT", "/db/_local/~"), ("GET", "http://localhost/db/~"), ("DELETE", "/db/a~b/c"),
            ("PUT", "/db/\u{FFFD}~"),
        ] {
            for byte: UInt8 in [0x80, 0xC3, 0xED, 0xFE, 0xFF] {
                let answer = try served.answer(
                    method, target, [Self.host, "Content-Length: 0"], byte)
                #expect(answer.status == 400, "\(method) \(target) \(byte)")
                #expect(answer.json["error"] == "bad_request")
            }
        }
        #expect(served.site.send("GET", "/db/_all_docs").json["total_rows"] == 1)
    }

    @Test(arguments: [
        "Authorization", "Cookie", "Origin", "Content-Type", "Content-Encoding", "Content-MD5",
        "Content-Length", "Transfer-Encoding", "Accept", "Accept-Encoding", "Accept-Language",
        "If-Match", "If-None-Match", "Range", "Destination", "Referer", "Last-Event-ID",
        "Access-Control-Request-Method", "X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles",
        "X-Auth-CouchDB-Token", "X-Couch-Full-Commit", "x-anything", "ORIGIN",
    ])
    func `bytes that are no UTF-8 in a field that is used are refused by its name`(name: String)
        throws
    {
        let served = try serve()
        for value in ["~", "a~b", "\u{FFFD}~"] {
            let answer = try served.answer("GET", "/db/x", [Self.host, "\(name): \(value)"])
            #expect(answer.status == 400, "\(name)")
            let isFraming = ["Content-Length", "Transfer-Encoding"].contains(name)
            let reason = answer.json["reason"]?.string ?? ""
            #expect(reason.contains(name) || isFraming, "\(answer)")
        }
    }

    @Test func `a host that is no UTF-8 is refused`() throws {
        let answer = try serve().answer("GET", "/db/x", ["Host: localhost~"])
        #expect(answer.status == 400 && answer.json["reason"]?.string?.contains("Host") == true)
    }

    @Test func `bytes that are no UTF-8 in a field without a meaning are left out`() throws {
        let served = try serve()
        for field in ["User-Agent: ~", "Via: a~", "Y: ~~~"] {
            let answer = try served.answer("GET", "/db/x", [Self.host, field, "Accept: */*"])
            #expect(answer.status == 200 && answer.json["a"] == 1, "\(field)")
        }
    }

    @Test func `fields that are left out count for the length of the head`() throws {
        let served = try serve { $0.limits.head = 4_096 }
        let field = "Y: " + String(repeating: "~", count: 4_090)
        #expect(try served.answer("GET", "/db/x", [Self.host, field]).status == 431)
    }

    @Test func `each field that the listener reads is one that is refused`() throws {
        let folder = TestFolder.repository.appending(path: "Sources/DivanListener")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let reading = /(?:[^e]\.|\b)headers(?:\["|\.values\(of: ")([A-Za-z0-9-]+)"/
        var names: Set<String> = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.split(separator: "\n") where !line.contains("response.headers") {
                for match in line.matches(of: reading) { names.insert(String(match.output.1)) }
            }
        }
        #expect(names.count > 12)
        for name in names { #expect(ReceivedFields.isUsed(name), "\(name)") }
        for name in Guardian.credentialFields { #expect(ReceivedFields.isUsed(name), "\(name)") }
    }
}

extension ServedSite {
    /// The answer to a request of which `~` stands for a byte.
    fileprivate func answer(
        _ method: String, _ target: String, _ fields: [String], _ byte: UInt8 = 0xFF
    ) throws -> (status: Int, header: String, json: JSONValue) {
        let client = try client()
        let lines = ["\(method) \(target) HTTP/1.1"] + fields
        let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
        client.write(text.utf8.map { $0 == UInt8(ascii: "~") ? byte : $0 })
        let answer = try #require(client.answer())
        let body = String(decoding: answer.body, as: UTF8.self)
        return (answer.status, answer.header, (try? JSONParser.parse(body)) ?? .null)
    }
}
