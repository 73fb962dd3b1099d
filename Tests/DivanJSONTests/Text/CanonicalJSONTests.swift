// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@Suite struct CanonicalJSONTests {
    /// Bodies and their canonical texts as Couchbase Lite 1.4.4 (Java) made them.
    private static let recorded: [(String, String)] = [
        (#"{}"#, #"{}"#), (#"{"a":1}"#, #"{"a":1}"#), (#"{"a":1.0}"#, #"{"a":1.0}"#),
        (#"{"a":0}"#, #"{"a":0}"#), (#"{"a":-0.0}"#, #"{"a":-0.0}"#),
        (#"{"a":0.1}"#, #"{"a":0.1}"#),
        (#"{"a":0.30000000000000004}"#, #"{"a":0.30000000000000004}"#),
        (#"{"a":0.001}"#, #"{"a":0.001}"#), (#"{"a":0.0001}"#, #"{"a":1.0E-4}"#),
        (#"{"a":1e-7}"#, #"{"a":1.0E-7}"#), (#"{"a":9999999.5}"#, #"{"a":9999999.5}"#),
        (#"{"a":10000000.0}"#, #"{"a":1.0E7}"#), (#"{"a":1e20}"#, #"{"a":1.0E20}"#),
        (#"{"a":1e21}"#, #"{"a":1.0E21}"#), (#"{"a":2e22}"#, #"{"a":2.0E22}"#),
        (#"{"a":123456.789}"#, #"{"a":123456.789}"#),
        (#"{"a":2.2250738585072014e-308}"#, #"{"a":2.2250738585072014E-308}"#),
        (#"{"a":1.7976931348623157e308}"#, #"{"a":1.7976931348623157E308}"#),
        (#"{"a":9223372036854775807}"#, #"{"a":9223372036854775807}"#),
        (#"{"a":12345678901234567890}"#, #"{"a":12345678901234567890}"#),
        (#"{"a":true,"b":false,"c":null}"#, #"{"a":true,"b":false,"c":null}"#),
        (#"{"type":"person","name":"Ann","age":30}"#, #"{"age":30,"name":"Ann","type":"person"}"#),
        (
            #"{"z":{"y":{"x":1,"w":2},"a":[]},"a":[{"b":1,"a":2}]}"#,
            #"{"a":[{"a":2,"b":1}],"z":{"a":[],"y":{"w":2,"x":1}}}"#
        ),
        (#"{"b":1,"a":2,"C":3,"_attachments":{}}"#, #"{"C":3,"_attachments":{},"a":2,"b":1}"#),
        (#"{"_id":"x","_rev":"1-a","a":1,"_revisions":{"start":1,"ids":["a"]}}"#, #"{"a":1}"#),
        (#"{"_removed":true}"#, #"{"_removed":true}"#),
        (
            "{\"\u{E9}\":1,\"\u{1F600}\":2,\"\u{FFEE}\":3,\"z\":4}",
            "{\"z\":4,\"\u{E9}\":1,\"\\uD83D\\uDE00\":2,\"\u{FFEE}\":3}"
        ),
        ("{\"s\":\"\u{E9}\u{4E2D}\u{1F600}\"}", "{\"s\":\"\u{E9}\u{4E2D}\\uD83D\\uDE00\"}"),
        (
            #"{"s":"/\\\"\b\f\n\r\t\u0000\u001f\u007f\u0080\u2028\u2029<>&'"}"#,
            #"{"s":"/\\\"\b\f\n\r\t\u0000\u001F"# + "\u{7F}\u{80}\u{2028}\u{2029}<>&'\"}"
        ),
        (
            #"{"_attachments":{"t":{"stub":true,"content_type":"text/plain","length":5}}}"#,
            #"{"_attachments":{"t":{"content_type":"text/plain","length":5,"stub":true}}}"#
        ),
    ]

    private func canonical(_ body: PackedValue) -> String {
        var bytes: [UInt8] = []
        CanonicalJSON.append(body: body, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func canonical(_ value: JSONValue) -> String {
        var bytes: [UInt8] = []
        CanonicalJSON.append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: recorded)
    func `bodies have the recorded canonical text`(body: String, text: String) throws {
        #expect(canonical(try PackedValue(parsing: body)) == text)
        #expect(canonical(PackedValue(try JSONParser.parse(body))) == text)
    }

    @Test(.enabled(if: Machine.hasShared("vectors/revids.jsonl"), "It needs ../shared/vectors."))
    func `every whole line of the shared vectors matches`() throws {
        let lines = try #require(SharedFolder.lines(of: "vectors/revids.jsonl"))
        // Some lines of the file were torn apart at U+2028 and U+2029; their body is restated
        // above.
        let vectors = lines.compactMap { try? JSONParser.parse($0) }
        #expect(vectors.count >= 58)
        for vector in vectors {
            let body = try #require(vector["body"]?.string)
            #expect(canonical(try PackedValue(parsing: body)) == vector["canonical"]?.string)
        }
    }

    @Test func `Java's spelling of doubles is kept at its thresholds`() {
        let cases: [(Double, String)] = [
            (0.001, "0.001"), (0.00099, "9.9E-4"), (9_999_999, "9999999.0"), (1e7, "1.0E7"),
            (12_345_678.5, "1.23456785E7"), (100, "100.0"), (-1.5e-5, "-1.5E-5"), (0.25, "0.25"),
            (1e22, "1.0E22"), (1e23, "1.0E23"), (1.2e30, "1.2E30"), (0, "0.0"),
            (Double(bitPattern: 1), "4.9E-324"), (Double(bitPattern: 2), "9.9E-324"),
            (Double(bitPattern: 3), "1.5E-323"), (Double(bitPattern: 4), "2.0E-323"),
            (Double(bitPattern: 10), "4.9E-323"), (Double(bitPattern: 20), "9.9E-323"),
        ]
        for (value, text) in cases {
            #expect(canonical(.double(value)) == text)
            #expect(canonical(PackedValue(["a": .double(value)])) == "{\"a\":\(text)}")
        }
    }

    @Test func `keys are dropped at the top level only`() throws {
        let body = try PackedValue(
            parsing: #"{"_id":1,"_deleted":true,"_local_seq":1,"_conflicts":[],"#
                + #""a":{"_id":2},"_revs_info":0}"#
        )
        #expect(canonical(body) == #"{"a":{"_id":2}}"#)
        #expect(canonical(PackedValue(3)) == "{}")
    }

    @Test func `unknown reserved keys are found`() throws {
        func unknown(_ text: String) throws -> String? {
            CanonicalJSON.unknownReservedKey(in: try PackedValue(parsing: text))
        }
        #expect(try unknown(#"{"_id":1,"_attachments":{},"_removed":true,"a":{"_x":1}}"#) == nil)
        #expect(try unknown(#"{"b":1,"_x":1}"#) == "_x")
        #expect(try unknown(#"{"_":1}"#) == "_")
        #expect(try unknown(#"{"_ids":1}"#) == "_ids")
        #expect(try unknown("[]") == nil)
    }

    @Test func `text and its packed form have one canonical text`() throws {
        for round in Soak.rounds(test: 500, soak: 100_000) {
            var random = Soak.random(round: round, salt: 12)
            let value = JSONValue.object(RandomJSON.object(depth: 4, using: &random))
            let text = JSONWriter.string(value)
            let packed = try PackedValue(parsing: text)
            #expect(canonical(try JSONParser.parse(text)) == canonical(packed.jsonValue()))
            #expect(canonical(packed) == canonical(PackedValue(value)))
        }
    }
}
