// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestChild
import DivanTestSupport
import Foundation

/// A client that writes its own documents in every way there is, one request after the other, until one is not answered.
///
/// It alone writes the documents whose IDs begin with its name, so it knows what they hold: what the last answered
/// request has left, or what one more would leave that was sent and not answered.
struct KillWriter: Sendable {
    let name: String
    private var random: SeededRandom
    /// What its documents hold after all that was answered.
    private(set) var state = KeptState()
    /// What they hold if the request that was not answered was carried out.
    private(set) var doubtful: KeptState?
    /// What an answer says that no answer should.
    private(set) var complaint: String?
    private let ids: [String]

    init(_ name: String, _ random: SeededRandom) {
        self.name = name
        self.random = random
        ids = (0..<8).map { "\(name)-\($0)" } + ["\(name)-é/x y", "\(name)-+%"]
    }

    /// Takes new random numbers, for a round that can be repeated by itself.
    mutating func begin(_ random: SeededRandom) {
        self.random = random
        doubtful = nil
    }

    /// Sends one request; false when it was not answered in whole, or not as it should be.
    mutating func step(_ connection: KeptConnection) -> Bool {
        var after = state
        let request = nextRequest(&after)
        doubtful = after
        guard let answer = connection.send(request) else { return false }
        guard answer.isSuccess, take(answer.json, &after) else {
            let text = String(decoding: answer.body.prefix(500), as: UTF8.self)
            complaint = "\(request.method) \(request.target) was answered \(answer.status) \(text)"
            return false
        }
        state = after
        doubtful = nil
        return true
    }

    /// Compares with what is in the database, and goes on from that.
    ///
    /// - Parameter found: What was read.
    /// - Returns: What is wrong; nil when nothing is.
    mutating func settle(_ found: KeptState) -> String? {
        defer { doubtful = nil }
        guard let problem = state.difference(to: found) else { return nil }
        guard let doubtful else { return problem }
        guard let other = doubtful.difference(to: found) else {
            state = found
            return nil
        }
        return "\(problem); and if the last request had been done: \(other)"
    }

    /// The part of what was read that is this client's.
    func own(_ found: FoundState, _ database: Database) throws -> KeptState {
        var state = KeptState()
        state.documents = found.documents.filter { $0.key.hasPrefix(name + "-") }
        for id in Self.locals {
            let found = try database.read { try $0.numberedLocalDocument("\(name)-\(id)") }
            guard let found, let number = found.body["n"]?.jsonValue().int64 else { continue }
            state.locals[id] = KeptLocal(revision: Int(found.revision), number: Int(number))
        }
        return state
    }

    private static let locals = ["a", "b"]

    /// Takes the revision IDs that an answer tells; false when it tells of a refusal.
    private mutating func take(_ json: JSONValue, _ after: inout KeptState) -> Bool {
        for item in json.array ?? [json] {
            guard item["error"] == nil else { return false }
            if let id = item["id"]?.string, let revision = item["rev"]?.string {
                after.name(revision, of: id)
            }
        }
        return after.documents.values.allSatisfy { $0[KeptState.unknown] == nil }
    }

    // MARK: - Requests

    private mutating func nextRequest(_ after: inout KeptState) -> KillRequest {
        let id = random.element(of: ids)
        let leaves = state.documents[id] ?? [:]
        if leaves.count > 4 { return purge(id, &after) }
        switch random.below(100) {
        case 0..<22: return put(id, &after)
        case 22..<34: return bulk(&after)
        case 34..<40: return arrive(&after)
        case 40..<52: return putAttachment(id, &after)
        case 52..<64: return putParts(id, &after)
        case 64..<69: return deleteAttachment(id, &after) ?? put(id, &after)
        case 69..<76: return delete(id, &after) ?? put(id, &after)
        case 76..<82: return purge(id, &after)
        case 82..<90: return copy(id, &after) ?? put(id, &after)
        default: return local(&after)
        }
    }

    private func path(_ id: String) -> String { "/notes/" + Self.encoded(id) }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    /// A leaf to go on from: a live one if there is one, else a tombstone, else none.
    private mutating func base(_ id: String) -> (revision: String, leaf: KeptLeaf)? {
        let leaves = (state.documents[id] ?? [:]).sorted { $0.key < $1.key }
        let live = leaves.filter { !$0.value.isDeleted }
        let choice = live.isEmpty ? leaves : live
        guard !choice.isEmpty else { return nil }
        let (revision, leaf) = random.element(of: choice)
        return (revision, leaf)
    }

    private mutating func liveBase(_ id: String) -> (revision: String, leaf: KeptLeaf)? {
        base(id).flatMap { $0.leaf.isDeleted ? nil : $0 }
    }

    /// A new body of a document, with some of the attachments that its base has.
    private mutating func edited(_ id: String, _ base: (revision: String, leaf: KeptLeaf)?) -> (
        JSONObject, KeptLeaf
    ) {
        var leaf = KeptLeaf(generation: (base?.leaf.generation ?? 0) + 1)
        leaf.author = id
        leaf.number = random.below(100_000)
        var body = leaf.properties
        body["_id"] = .string(id)
        if let base { body["_rev"] = .string(base.revision) }
        var entries: JSONObject = [:]
        for (name, number) in (base?.leaf.attachments ?? [:]).sorted(by: { $0.key < $1.key })
        where random.oneIn(2) {
            entries[name] = ["stub": true]
            leaf.attachments[name] = number
        }
        if random.oneIn(4) {
            let number = random.below(14)
            leaf.attachments["inline"] = number
            entries["inline"] = [
                "content_type": "text/plain",
                "data": .string(Data(KillContent.bytes(number)).base64EncodedString()),
            ]
        }
        if !entries.isEmpty { body["_attachments"] = .object(entries) }
        return (body, leaf)
    }

    private mutating func put(_ id: String, _ after: inout KeptState) -> KillRequest {
        let base = base(id)
        let (body, leaf) = edited(id, base)
        after.replace(base?.revision, of: id, by: leaf, named: KeptState.unknown)
        return KillRequest("PUT", path(id), json: .object(body))
    }

    private mutating func bulk(_ after: inout KeptState) -> KillRequest {
        var documents: [JSONValue] = []
        for id in ids where random.oneIn(3) {
            let base = base(id)
            if let base, !base.leaf.isDeleted, random.oneIn(5) {
                documents.append([
                    "_id": .string(id), "_rev": .string(base.revision), "_deleted": true,
                ])
                let leaf = KeptLeaf(generation: base.leaf.generation + 1, isDeleted: true)
                after.replace(base.revision, of: id, by: leaf, named: KeptState.unknown)
                continue
            }
            let (body, leaf) = edited(id, base)
            documents.append(.object(body))
            after.replace(base?.revision, of: id, by: leaf, named: KeptState.unknown)
        }
        return KillRequest("POST", "/notes/_bulk_docs", json: ["docs": .array(documents)])
    }

    /// Revisions that were made elsewhere: they go on from a leaf, or begin a branch of their own.
    private mutating func arrive(_ after: inout KeptState) -> KillRequest {
        var documents: [JSONValue] = []
        let isOne = random.oneIn(2)
        for id in ids.shuffled(using: &random) where isOne ? documents.isEmpty : random.oneIn(3) {
            let base = random.oneIn(3) ? nil : base(id)
            var leaf = KeptLeaf(generation: (base?.leaf.generation ?? 0) + 1)
            leaf.isDeleted = random.oneIn(5)
            if !leaf.isDeleted {
                leaf.author = id
                leaf.number = random.below(100_000)
                if random.oneIn(3) { leaf.attachments["far"] = random.below(16) }
            }
            let digest = [random.next(), random.next()]
                .map { String($0 | 1 << 63, radix: 16) }.joined()
            var body = leaf.properties
            body["_id"] = .string(id)
            body["_rev"] = .string("\(leaf.generation)-\(digest)")
            if leaf.isDeleted { body["_deleted"] = true }
            let parents = base.map {
                [JSONValue.string(String($0.revision.drop { $0 != "-" }.dropFirst()))]
            }
            body["_revisions"] = [
                "start": .integer(Int64(leaf.generation)),
                "ids": .array([.string(digest)] + (parents ?? [])),
            ]
            if let number = leaf.attachments["far"] {
                body["_attachments"] = [
                    "far": ["data": .string(Data(KillContent.bytes(number)).base64EncodedString())]
                ]
            }
            after.replace(
                base?.revision, of: id, by: leaf, named: "\(leaf.generation)-\(digest)")
            documents.append(.object(body))
        }
        guard isOne, let body = documents.first, let id = body["_id"]?.string else {
            return KillRequest(
                "POST", "/notes/_bulk_docs",
                json: ["new_edits": false, "docs": .array(documents)])
        }
        return KillRequest("PUT", path(id) + "?new_edits=false", json: body)
    }

    private mutating func putAttachment(_ id: String, _ after: inout KeptState) -> KillRequest {
        guard let base = base(id).flatMap({ $0.leaf.isDeleted ? nil : $0 }) else {
            return put(id, &after)
        }
        var leaf = base.leaf
        leaf.generation += 1
        let name = random.element(of: ["x", "y", "é z"])
        let number = random.below(200)
        leaf.attachments[name] = number
        after.replace(base.revision, of: id, by: leaf, named: KeptState.unknown)
        var request = KillRequest(
            "PUT", "\(path(id))/\(Self.encoded(name))?rev=\(base.revision)",
            ["Content-Type: application/x-kill"], body: KillContent.bytes(number))
        request.isChunked = random.oneIn(3)
        return request
    }

    /// A document with its attachments in the parts of one body.
    private mutating func putParts(_ id: String, _ after: inout KeptState) -> KillRequest {
        let base = base(id)
        var (body, leaf) = edited(id, base)
        let isArrival = random.oneIn(4)
        if isArrival {
            // As a replicator sends it: all contents follow.
            leaf.attachments = [:]
            let digest = String(random.next() | 1 << 63, radix: 16)
            let parent = base.map {
                [JSONValue.string(String($0.revision.drop { $0 != "-" }.dropFirst()))]
            }
            body["_rev"] = .string("\(leaf.generation)-\(digest)")
            body["_revisions"] = [
                "start": .integer(Int64(leaf.generation)),
                "ids": .array([.string(digest)] + (parent ?? [])),
            ]
        }
        var entries = isArrival ? [:] : body["_attachments"]?.object ?? [:]
        let names = ["p", "q"].prefix(1 + random.below(2))
        for name in names {
            let number = random.below(200)
            leaf.attachments[name] = number
            entries[name] = [
                "follows": true, "content_type": "application/x-kill",
                "length": .integer(Int64(KillContent.bytes(number).count)),
            ]
        }
        body["_attachments"] = .object(entries)
        let boundary = "kill-\(random.next())"
        var bytes = Array("--\(boundary)\r\nContent-Type: application/json\r\n\r\n".utf8)
        bytes += Array(JSONValue.object(body).description.utf8)
        for name in names {
            bytes += Array(
                "\r\n--\(boundary)\r\nContent-Disposition: attachment; filename=\"\(name)\"\r\n\r\n"
                    .utf8)
            bytes += KillContent.bytes(leaf.attachments[name] ?? 0)
        }
        bytes += Array("\r\n--\(boundary)--".utf8)
        let revision = isArrival ? body["_rev"]?.string : nil
        after.replace(
            base?.revision, of: id, by: leaf, named: revision ?? KeptState.unknown)
        return KillRequest(
            "PUT", path(id) + (isArrival ? "?new_edits=false" : ""),
            ["Content-Type: multipart/related; boundary=\"\(boundary)\""], body: bytes)
    }

    private mutating func deleteAttachment(_ id: String, _ after: inout KeptState) -> KillRequest? {
        guard let base = liveBase(id), let name = base.leaf.attachments.keys.sorted().first else {
            return nil
        }
        var leaf = base.leaf
        leaf.generation += 1
        leaf.attachments[name] = nil
        after.replace(base.revision, of: id, by: leaf, named: KeptState.unknown)
        return KillRequest("DELETE", "\(path(id))/\(Self.encoded(name))?rev=\(base.revision)")
    }

    private mutating func delete(_ id: String, _ after: inout KeptState) -> KillRequest? {
        guard let base = liveBase(id) else { return nil }
        let leaf = KeptLeaf(generation: base.leaf.generation + 1, isDeleted: true)
        after.replace(base.revision, of: id, by: leaf, named: KeptState.unknown)
        return KillRequest("DELETE", "\(path(id))?rev=\(base.revision)")
    }

    /// Purges a leaf of a document, or all of it.
    private mutating func purge(_ id: String, _ after: inout KeptState) -> KillRequest {
        let leaves = (state.documents[id] ?? [:]).keys.sorted()
        let gone = random.oneIn(2) ? leaves : Array(leaves.prefix(1))
        for revision in gone { after.documents[id]?[revision] = nil }
        if after.documents[id]?.isEmpty ?? false { after.documents[id] = nil }
        return KillRequest(
            "POST", "/notes/_purge",
            json: .object([id: .array(gone.map { .string($0) })]))
    }

    private mutating func copy(_ id: String, _ after: inout KeptState) -> KillRequest? {
        let other = random.element(of: ids)
        guard other != id, let source = liveBase(id) else { return nil }
        let base = base(other)
        var leaf = source.leaf
        leaf.generation = (base?.leaf.generation ?? 0) + 1
        after.replace(base?.revision, of: other, by: leaf, named: KeptState.unknown)
        let destination = Self.encoded(other) + (base.map { "?rev=\($0.revision)" } ?? "")
        return KillRequest(
            "COPY", "\(path(id))?rev=\(source.revision)", ["Destination: \(destination)"])
    }

    private mutating func local(_ after: inout KeptState) -> KillRequest {
        let id = random.element(of: Self.locals)
        let path = "/notes/_local/\(name)-\(id)"
        let known = state.locals[id]
        if let known, random.oneIn(3) {
            after.locals[id] = nil
            return KillRequest("DELETE", path + "?rev=0-\(known.revision)")
        }
        let new = KeptLocal(revision: (known?.revision ?? 0) + 1, number: random.below(100_000))
        after.locals[id] = new
        var body: JSONObject = ["n": .integer(Int64(new.number))]
        if let known { body["_rev"] = .string("0-\(known.revision)") }
        return KillRequest("PUT", path, json: .object(body))
    }
}
