// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Sends the requests of a recorded conversation to a listener, and notes where it answers otherwise than the recorded
/// server: another status, members that are missing or added, other types or other values.
///
/// What only names a place or a moment is not compared: sequences, revisions of local documents, times, sizes, reasons.
/// A sequence or local revision that the recorded server had given stands in later requests, and there the one that the
/// listener gave takes its place. A session's cookie likewise.
struct WireReplay {
    private static let volatile: Set<String> = [
        "reason", "instance_start_time", "uuid", "db_uuid", "git_sha", "version", "file",
        "external", "active", "disk_size", "seq", "last_seq", "update_seq", "purge_seq",
    ]

    let script: WireScript
    let site: TestSite
    /// What differs: the route, and what about it.
    private(set) var differences: Set<String> = []
    private var cookie = ""
    /// The feeds whose documents are there.
    private var prepared: Set<Int> = []
    /// What the listener gave in place of what was recorded, by the database or local document that it belongs to.
    private var given: [String: [String: String]] = [:]

    init(_ script: WireScript) throws {
        self.script = script
        let isSignedIn = script.isSignedIn
        let isCounted = script.name == "cbl14-to-cbl14"
        site = try TestSite {
            if isSignedIn { $0.access = .users(["admin": "secret"]) }
            $0.numberSequences = isCounted
        }
    }

    /// Replays everything.
    mutating func run() throws {
        for (index, exchange) in script.exchanges.enumerated() {
            try prepare(index)
            let answer = send(exchange)
            let route = "\(exchange.method) \(exchange.route)"
            if answer.status != exchange.status {
                note(route, "status \(exchange.status), here \(answer.status)")
            }
            learn(exchange, answer)
            if let cookie = answer.headers["Set-Cookie"] {
                self.cookie = String(cookie.prefix { $0 != ";" })
            }
            compare(exchange, answer, route)
        }
    }

    private mutating func note(_ route: String, _ difference: String) {
        differences.insert("\(route): \(difference)")
    }

    // MARK: - Databases

    /// Makes a database that was there already, with the documents that the recorded server tells of next, where the
    /// conversation itself does not write them.
    private mutating func prepare(_ index: Int) throws {
        let name = script.exchanges[index].components.first ?? ""
        guard name != "", !name.hasPrefix("_") else { return }
        let all = script.exchanges.filter { $0.components.first == name }
        if all.contains(where: { $0.method == "PUT" && $0.route == "db" }) { return }
        let database = try site.manager.database(named: name)
        if all.contains(where: { $0.route == "_bulk_docs" }) { return }
        let next = script.exchanges[index...].firstIndex {
            $0.components.first == name && $0.route == "_changes"
        }
        guard let next, prepared.insert(next).inserted else { return }
        let rows = script.exchanges[next].answer.documents.first?["results"]?.array ?? []
        let told = Set(rows.map { $0["id"] })
        for document in script.documents(of: name) where told.contains(document.json["_id"]) {
            let body = JSONValue.object(["docs": [document.whole], "new_edits": false])
            let sent = site.send(
                "POST", "/\(database.name)/_bulk_docs", body.description, authorized)
            #expect(sent.json == [])
        }
    }

    private var authorized: HTTPHeaders {
        script.isSignedIn
            ? ["Authorization": "Basic " + Base64.encode(Array("admin:secret".utf8))] : [:]
    }

    // MARK: - Requests

    private func send(_ exchange: WireExchange) -> TestAnswer {
        var message = exchange.request
        let known = given[place(exchange)] ?? [:]
        if case .json(let value) = message.body { message.body = .json(Self.put(known, value)) }
        let (fields, bytes) = message.encoded()
        var headers = HTTPHeaders()
        for field in fields { headers.add(field.name, field.value) }
        if headers["Cookie"] != nil { headers["Cookie"] = cookie }
        var target = exchange.target
        for (recorded, here) in known {
            target = target.replacingOccurrences(of: "=\(recorded)", with: "=\(here)")
        }
        return site.send(exchange.method, target, bytes, headers)
    }

    private static func put(_ known: [String: String], _ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(known[text] ?? text)
        case .array(let elements): .array(elements.map { put(known, $0) })
        case .object(let object): .object(JSONObject(object.map { ($0.key, put(known, $0.value)) }))
        default: value
        }
    }

    /// What a sequence or a revision of an exchange belongs to.
    private func place(_ exchange: WireExchange) -> String {
        exchange.components.prefix(exchange.route == "_local" ? 3 : 1).joined(separator: "/")
    }

    private mutating func learn(_ exchange: WireExchange, _ answer: TestAnswer) {
        let recorded = exchange.answer.documents.first
        if exchange.route == "doc", let old = recorded?["rev"]?.string,
            let new = answer.json["rev"]?.string
        {
            // Two servers give a revision that they make two IDs, and its digest stands by itself in histories.
            given[place(exchange), default: [:]][old] = new
            given[place(exchange), default: [:]][Self.digest(old)] = Self.digest(new)
        }
        for name in exchange.route == "_local" ? ["rev", "_rev"] : ["last_seq", "update_seq"] {
            guard let old = recorded?[name], let new = answer.json[name] else { continue }
            given[place(exchange), default: [:]][old.string ?? old.description] =
                new.string ?? new.description
        }
    }

    private static func digest(_ revision: String) -> String {
        String(revision.drop { $0 != "-" }.dropFirst())
    }

    // MARK: - Answers

    private mutating func compare(_ exchange: WireExchange, _ answer: TestAnswer, _ route: String) {
        let here = WireMessage(
            reading: answer.headers.map { (name: $0.name, value: $0.value) }, answer.bytes)
        let known = given[place(exchange)] ?? [:]
        let (old, new) = (exchange.answer.documents, here.documents)
        guard old.count == new.count else {
            return note(route, "\(old.count) documents, here \(new.count)")
        }
        for (old, new) in zip(old, new) { compare(Self.put(known, old), new, "", route) }
        let (contents, ours) = (exchange.answer.contents, here.contents)
        if contents != ours {
            note(route, "contents \(contents.keys.sorted()), here \(ours.keys.sorted())")
        }
    }

    private mutating func compare(
        _ old: JSONValue, _ new: JSONValue, _ path: String, _ route: String
    ) {
        switch (old, new) {
        case (.object(let old), .object(let new)):
            for (name, value) in old {
                // Documents stand under their IDs in some answers.
                let inner = script.ids.contains(name) ? "\(path).ID" : "\(path).\(name)"
                guard let other = new[name] else {
                    note(route, "\(inner) is missing")
                    continue
                }
                let isVolatile =
                    Self.volatile.contains(name) || (name == "rev" && route.hasSuffix("_local"))
                if isVolatile, Self.kind(value) == Self.kind(other) { continue }
                compare(value, other, inner, route)
            }
            for name in new.keys where old[name] == nil { note(route, "\(path).\(name) is added") }
        case (.array(let old), .array(let new)):
            compareElements(old, new, path, route)
        default:
            let (left, right) = (Self.kind(old), Self.kind(new))
            if left != right {
                note(route, "\(path) is a \(left), here a \(right)")
            } else if old != new {
                note(route, "\(path) differs")
            }
        }
    }

    /// Rows are compared with those of the same document, since their order is the feed's own.
    private mutating func compareElements(
        _ old: [JSONValue], _ new: [JSONValue], _ path: String, _ route: String
    ) {
        var left = new
        for element in old {
            guard let index = left.firstIndex(where: { Self.key($0) == Self.key(element) }) else {
                note(route, "\(path) has fewer elements here")
                continue
            }
            compare(element, left.remove(at: index), path + "[]", route)
        }
        if !left.isEmpty { note(route, "\(path) has more elements here") }
    }

    private static func key(_ value: JSONValue) -> String {
        guard value.object != nil else { return value.description }
        let document = value["docs"]?[0]?["ok"] ?? value["doc"]
        let parts = [value["id"], value["key"], value["rev"], document?["_rev"]]
        return parts.map { $0?.description ?? "" }.joined(separator: " ")
    }

    private static func kind(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        default: "number"
        }
    }
}

extension WireScript {
    /// Whether the recorded client showed who it was.
    fileprivate var isSignedIn: Bool {
        exchanges.contains { $0.request["Authorization"] != nil || $0.request["Cookie"] != nil }
    }
}
