// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import Foundation

/// Both ends get the same content and the same requests; their answers must have the same status and the same form.
struct RequestsPart {
    private let harness: Harness

    init(_ harness: Harness) { self.harness = harness }

    func run() async throws {
        let pair = try await harness.makePair("requests")
        for database in [pair.here, pair.there] {
            // One by one, so that their order is the same.
            for text in ComparedRequest.content { try await database.store([text.text]) }
        }
        let marks = [try await mark(pair.here), try await mark(pair.there)]
        for request in ComparedRequest.all {
            let here = try await request.send(to: pair.here, since: marks[0])
            let there = try await request.send(to: pair.there, since: marks[1])
            compare(request, here, there)
        }
        harness.report.say("  \(ComparedRequest.all.count) requests")
    }

    /// A place in the middle of the feed.
    private func mark(_ database: RemoteDatabase) async throws -> String {
        let rows = try await database.get("_changes")["results"]?.array ?? []
        guard rows.count > 4, let sequence = rows[3]["seq"] else {
            throw Trouble("The feed is too short.")
        }
        return sequence.string ?? "\(sequence)"
    }

    private func compare(_ request: ComparedRequest, _ here: Answer, _ there: Answer) {
        harness.report.checked()
        guard here.status == there.status else {
            return tell(request, "status \(here.status) \(there.status)", "\(here)", "\(there)")
        }
        let types = [here, there].map { $0.headers["Content-Type"]?.prefix { $0 != ";" } ?? "none" }
        if types[0] != types[1] { tell(request, "type", String(types[0]), String(types[1])) }
        let forms = [here, there].map { AnswerForm.of($0, isWriting: request.isWriting) }
        for (path, one, other) in AnswerForm.differences(forms[0], forms[1]) {
            tell(
                request, path, one.map { "\($0)" } ?? "nothing", other.map { "\($0)" } ?? "nothing")
        }
    }

    private func tell(_ request: ComparedRequest, _ facet: String, _ here: String, _ there: String)
    {
        harness.report.add(
            Difference(
                part: "requests", circumstance: "", subject: request.name, facet: facet,
                ends: [(harness.here.server.name, here), (harness.there.name, there)]))
    }
}

/// What of an answer must be the same everywhere.
enum AnswerForm {
    /// Properties of which only the type counts: places in feeds, times, sizes, sentences.
    private static let volatile: Set<String> = [
        "seq", "last_seq", "update_seq", "purge_seq", "committed_update_seq", "compacted_seq",
        "instance_start_time",
        "uuid", "db_uuid", "disk_size", "sizes", "session_id", "db_name", "reason", "props",
        "cluster", "pending",
        "disk_format_version",
    ]

    /// An answer without what cannot be the same.
    static func of(_ answer: Answer, isWriting: Bool) -> JSONValue {
        normalized(content(answer.bytes, answer.headers["Content-Type"] ?? ""), nil, isWriting)
    }

    private static func content(_ bytes: [UInt8], _ type: String) -> JSONValue {
        if type.hasPrefix("multipart/"), let boundary = MultipartReader.boundary(in: type) {
            let parts = parts(bytes, boundary)
            // The attachments come in any order after their document, and revisions in any order at all.
            let isMixed = type.hasPrefix("multipart/mixed")
            return .array(
                isMixed ? sorted(parts) : parts.prefix(1) + sorted(Array(parts.dropFirst())))
        }
        if let whole = try? JSONParser.parse(bytes, options: .init(maximumDepth: 1_000)) {
            return whole
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let values = lines.map { try? JSONParser.parse(Array($0)) }
        if !lines.isEmpty, values.allSatisfy({ $0 != nil }) {
            return .array(values.compactMap(\.self))
        }
        return .string(String(decoding: bytes, as: UTF8.self))
    }

    /// The parts of a multipart answer: their header fields and what is in them.
    private static func parts(_ bytes: [UInt8], _ boundary: String) -> [JSONValue] {
        let text = String(decoding: bytes, as: Unicode.ASCII.self)
        return text.components(separatedBy: "--\(boundary)").dropFirst().dropLast().map { part in
            let halves = part.split(
                separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            var fields: JSONObject = [:]
            var type = ""
            for line in halves[0].split(separator: "\r\n") {
                let field = line.split(separator: ":", maxSplits: 1).map { $0.trimmingPrefix(" ") }
                guard field.count == 2 else { continue }
                if field[0].lowercased() == "content-type" { type = String(field[1]) }
                fields[field[0].lowercased()] = .string(String(field[1].prefix { $0 != ";" }))
            }
            let body = Array((halves.count > 1 ? halves[1] : "").utf8)
            return .object(["fields": .object(fields), "body": content(body, type)])
        }
    }

    private static func normalized(_ value: JSONValue, _ key: String?, _ isWriting: Bool)
        -> JSONValue
    {
        if let key, volatile.contains(key) { return .string(value.isNull ? "null" : "some") }
        switch value {
        case .object(let object):
            return .object(
                JSONObject(object.map { ($0.key, normalized($0.value, $0.key, isWriting)) }))
        case .array(let items):
            let items = items.map { normalized($0, nil, isWriting) }
            let isSet = items.allSatisfy {
                $0.string != nil || $0["ok"] != nil || $0["missing"] != nil
            }
            return .array(isSet ? sorted(items) : items)
        case .string(let text) where isWriting && (key == "rev" || key == "_rev"):
            return .string("\(text.prefix { $0 != "-" })-…")
        case .string(let text) where key == "digest":
            return .string(text.contains("-") ? "a digest" : text)
        default: return value
        }
    }

    private static func sorted(_ items: [JSONValue]) -> [JSONValue] {
        items.sorted { JSONWriter.string($0) < JSONWriter.string($1) }
    }

    /// The places where two forms differ, and what is there.
    static func differences(_ left: JSONValue?, _ right: JSONValue?, _ path: String = "")
        -> [(String, JSONValue?, JSONValue?)]
    {
        if left == right { return [] }
        switch (left, right) {
        case (.object(let one)?, .object(let other)?):
            let keys = one.keys + other.keys.filter { !one.contains(key: $0) }
            return keys.flatMap { differences(one[$0], other[$0], "\(path)/\($0)") }
        case (.array(let one)?, .array(let other)?) where one.count == other.count:
            return one.indices.flatMap { differences(one[$0], other[$0], "\(path)/\($0)") }
        default: return [(path.isEmpty ? "/" : path, left, right)]
        }
    }
}
