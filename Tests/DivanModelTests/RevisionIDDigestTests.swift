// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanPlatform
import DivanTestSupport
import Testing

@Suite struct RevisionIDDigestTests {
    /// An edit and the ID that Couchbase Lite 1.4 gives it.
    struct Vector: Sendable, CustomTestStringConvertible {
        var parent: String?
        var isDeleted: Bool
        var body: String?
        var revision: String

        init(_ parent: String?, deleted: Bool = false, _ body: String?, _ revision: String) {
            self.parent = parent
            isDeleted = deleted
            self.body = body
            self.revision = revision
        }

        var testDescription: String { revision }
    }

    private static let first = "1-73e739f17d43286245f535443683a01a"

    @Test(arguments: [
        Vector(nil, "{}", "1-7fb403f73a4446d70cf0a21a97e0b10a"),
        Vector(nil, nil, "1-7fb403f73a4446d70cf0a21a97e0b10a"),
        Vector(
            "1-7fb403f73a4446d70cf0a21a97e0b10a", deleted: true, nil,
            "2-b09f34fcf463bd76c429f623b8570b78"),
        Vector(nil, #"{"a":1}"#, first),
        Vector(first, #"{"a":1}"#, "2-58489a513ab9035248a0701c3fc3fad1"),
        Vector("41-abc", deleted: true, #"{"a":1}"#, "42-5c8189df92136abd7ef54594be4ae9d7"),
        Vector(nil, #"{"a":1.0}"#, "1-6602756594404d8123247085b08021b6"),
        Vector(nil, #"{"a":-0.0}"#, "1-e17fd88ebb22795fd80b2145f628114f"),
        Vector(nil, #"{"a":0}"#, "1-7cdc47a5087f957baa74f31d0228fca9"),
        Vector(nil, #"{"a":1e20}"#, "1-66af801a69248da17d88f236260bf449"),
        Vector(nil, #"{"a":1e-7}"#, "1-cd9843f59ec605a705031544a4562136"),
        Vector(nil, #"{"a":0.001}"#, "1-c6e3c317c57762f0e8cab694dc0816f2"),
        Vector(nil, #"{"a":10000000.0}"#, "1-158d4de02c42f32d3d847c3c11341491"),
        Vector(nil, #"{"a":9999999.5}"#, "1-5be1d714e683ed9a53d76f2ba29e5031"),
        Vector(
            first, #"{"a":12345678901234567890}"#, "2-dd6dd7fed09e2b6b5a464dc502a7016e"),
        Vector(
            "41-abc", deleted: true, #"{"a":9223372036854775807}"#,
            "42-48f1e5b99ae983b4614a126e47c57cfa"),
        Vector(
            nil, #"{"type":"person","name":"Ann","age":30}"#,
            "1-485f061fd35e5c291d897cc54300be0d"),
        Vector(
            nil, #"{"b":1,"a":2,"C":3,"_attachments":{}}"#,
            "1-c871d25c55960707f129bf00a270284e"),
        // Keys by UTF-16 code unit: the pair of U+1F600 stands before U+FFEE.
        Vector(
            nil, "{\"\u{e9}\":1,\"\u{1f600}\":2,\"\u{ffee}\":3,\"z\":4}",
            "1-dc8250deabf03b6478a49c567b41182b"),
        // Properties that are no part of the body.
        Vector(
            first, #"{"_id":"x","_rev":"1-a","a":1,"_revisions":{"start":1,"ids":["a"]}}"#,
            "2-58489a513ab9035248a0701c3fc3fad1"),
        Vector(
            first, #"{"z":{"y":{"x":1,"w":2},"a":[]},"a":[{"b":1,"a":2}]}"#,
            "2-c5ac197176a6bf75df8cf2123615af20"),
    ])
    func `an edit has the ID that Couchbase Lite gives it`(vector: Vector) throws {
        #expect(try id(of: vector).description == vector.revision)
    }

    @Test(.enabled(if: Machine.hasShared("vectors/revids.jsonl"), "It needs ../shared/vectors."))
    func `every recorded edit has its recorded ID`() throws {
        let lines = try #require(SharedFolder.lines(of: "vectors/revids.jsonl"))
        let records = whole(lines)
        #expect(records.count == 60)
        for line in records {
            let record = try JSONParser.parse(line)
            let vector = Vector(
                record["prev"]?.string, deleted: record["deleted"]?.bool ?? false,
                record["body"]?.string, record["rev"]?.string ?? "")
            #expect(try id(of: vector).description == vector.revision)
        }
    }

    /// Puts three records together again: the file was split and sorted by a tool that takes U+2028
    /// and U+2029, which those records contain one after the other, for ends of lines.
    private func whole(_ lines: [String]) -> [String] {
        let heads = lines.filter { $0.hasPrefix("{") && !$0.hasSuffix("}") }
        let tails = lines.filter { !$0.hasPrefix("{") }
        return lines.filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
            + zip(heads, tails).map { "\($0)\u{2028}\u{2029}\($1)" }
    }

    @Test func `packing and unpacking a body does not change its digest`() throws {
        var scratch: [UInt8] = []
        for round in Soak.rounds(test: 2_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 6)
            let text = JSONValue.object(RandomJSON.object(using: &random)).description
            let parsed = try JSONParser.parse(text)
            let packed = PackedValue(parsed)
            let unpacked = packed.jsonValue()
            let ids = [try PackedValue(parsing: text), packed, PackedValue(unpacked)].map {
                RevisionID.of(
                    parent: nil, isDeleted: false, body: $0, digest: OpenSSLDigest.shared,
                    scratch: &scratch)
            }
            var direct: [UInt8] = [0, 0]
            CanonicalJSON.append(parsed, to: &direct)
            let expected = RevisionID(
                generation: 1, md5: OpenSSLDigest.shared.md5(of: direct.span))
            // Random objects may have reserved properties, which only a body drops.
            let hasReserved = parsed.object?.keys.contains { $0.hasPrefix("_") } ?? false
            #expect(Set(ids).count == 1)
            #expect(hasReserved || ids[0] == expected)
        }
    }

    @Test func `the generation stays at its maximum`() throws {
        var scratch: [UInt8] = []
        let highest = RevisionID(generation: RevisionID.maximumGeneration, md5: (1, 1))
        let child = RevisionID.of(
            parent: highest, isDeleted: false, body: nil, digest: OpenSSLDigest.shared,
            scratch: &scratch)
        #expect(child.generation == RevisionID.maximumGeneration)
    }

    @Test func `parents of any length can be edited`() throws {
        var scratch: [UInt8] = []
        let ids = try (250...255).map {
            RevisionID.of(
                parent: try RevisionID(validating: "12-" + String(repeating: "x", count: $0)),
                isDeleted: false, body: nil, digest: OpenSSLDigest.shared, scratch: &scratch)
        }
        #expect(Set(ids).count == ids.count)
    }

    private func id(of vector: Vector) throws -> RevisionID {
        var scratch: [UInt8] = [1, 2, 3]
        return RevisionID.of(
            parent: try vector.parent.map { try RevisionID(validating: $0) },
            isDeleted: vector.isDeleted,
            body: try vector.body.map { try PackedValue(parsing: $0) },
            digest: OpenSSLDigest.shared, scratch: &scratch)
    }
}
