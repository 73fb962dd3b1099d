// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport

/// Documents with attachments are edited, and each edit is replicated by itself.
struct AttachmentsPart {
    private let harness: Harness

    init(_ harness: Harness) { self.harness = harness }

    func run() async throws {
        for direction in Direction.allCases {
            try await edits(direction)
            harness.report.say("  \(direction.rawValue): done")
        }
        try await later()
        try await thereAndBack()
    }

    /// What was pulled is edited, its attachments kept, and pushed back.
    private func thereAndBack() async throws {
        let pair = try await harness.makePair("attachments", "back")
        let texts = Material.attachments(isQuick: true, harness.random(5))
        try await pair.there.store(texts.map(\.text))
        try await harness.replicate(pair, .divanPulls, part: "attachments")
        for id in Set(texts.map { DocumentID($0.id) }) {
            guard let document = try pair.local.document(withID: id)?.toMutable() else {
                continue
            }
            document.set("here", forKey: "edited")
            try pair.local.save(document)
        }
        try await harness.replicate(pair, .divanPushes, part: "attachments")
        harness.comparison("attachments", "there and back").compare(
            try await Snapshot.take(pair.here), try await Snapshot.take(pair.there))
    }

    /// Each step is one edit of the document `d` or another one; then a replication and a comparison.
    private func edits(_ direction: Direction) async throws {
        let pair = try await harness.makePair("attachments", direction.rawValue)
        var random = harness.random(3)
        let editor = AttachmentEditor(database: pair.source(direction))
        let text = Array(String(repeating: "text that can be compressed ", count: 400).utf8)
        let big = random.bytes(harness.options.count(60_000, 300_000, 3_000_000))
        let steps: [(String, () async throws -> Void)] = [
            ("two attachments", { try await editor.put("d", ["t": text, "b": big]) }),
            ("an edit that keeps both", { try await editor.edit("d") { $0["n"] = 1 } }),
            ("another that keeps both", { try await editor.edit("d") { $0["n"] = 2 } }),
            (
                "one put by its own route",
                { try await editor.attach("d", "own", "text/plain", text) }
            ),
            (
                "one replaced",
                { try await editor.attach("d", "t", "text/plain", Array("other".utf8)) }
            ),
            (
                "one replaced by the content of another",
                { try await editor.attach("d", "t", "image/png", big) }
            ),
            ("one removed by its own route", { try await editor.detach("d", "own") }),
            (
                "one left out of an edit",
                { try await editor.edit("d") { $0["_attachments"]?["t"] = nil } }
            ),
            (
                "the same content in another document",
                { try await editor.put("e", ["b": big, "c": big]) }
            ),
            ("all removed", { try await editor.edit("d") { $0["_attachments"] = nil } }),
            ("one of them put back", { try await editor.attach("d", "b", "image/png", big) }),
            ("the document deleted", { try await editor.delete("d") }),
            ("and made again", { try await editor.attach("d", "b", "text/plain", text) }),
            ("an edit after that", { try await editor.edit("d") { $0["n"] = 3 } }),
        ]
        for (name, step) in steps {
            try await step()
            try await harness.replicate(pair, direction, part: "attachments")
            harness.comparison("attachments", "\(direction.rawValue), \(name)").compare(
                try await Snapshot.take(pair.here), try await Snapshot.take(pair.there))
        }
    }

    /// Documents come alone, and the contents when they are wanted.
    private func later() async throws {
        let pair = try await harness.makePair("attachments", "later")
        let texts = Material.attachments(isQuick: true, harness.random(4))
        try await pair.there.store(texts.map(\.text))
        let pull = pair.local.makePullReplication(from: pair.there.address) {
            $0.downloadsAttachments = false
        }
        try await pull.run()
        var count = 0
        for id in Set(texts.map { DocumentID($0.id) }) {
            for revision in try pair.local.leafRevisions(of: id) {
                for attachment in revision.attachments {
                    try await pull.downloadAttachment(attachment)
                    count += 1
                }
            }
        }
        harness.comparison("attachments", "content that comes later").compare(
            try await Snapshot.take(pair.here), try await Snapshot.take(pair.there))
        harness.report.say("  \(count) contents came later")
    }
}

/// Edits a document with attachments by requests.
struct AttachmentEditor: Sendable {
    let database: RemoteDatabase

    private func current(_ id: String) async throws -> JSONObject? {
        try await database.send(.get, RemoteDatabase.path(id)).json?.object.flatMap {
            $0["_rev"] == nil ? nil : $0
        }
    }

    private func check(_ answer: Answer) throws {
        guard answer.isSuccess else { throw Trouble("\(database.server.name): \(answer)") }
    }

    /// Makes a document.
    func put(_ id: String, _ contents: KeyValuePairs<String, [UInt8]>) async throws {
        var attachments: JSONObject = [:]
        for (name, bytes) in contents {
            attachments[name] = [
                "content_type": name == "t" ? "text/plain" : "image/png",
                "data": .string(Base64.encode(bytes)),
            ]
        }
        try check(
            try await database.send(
                .put, RemoteDatabase.path(id), json: ["_attachments": .object(attachments)]))
    }

    /// Changes what a client gets, and puts it.
    func edit(_ id: String, _ change: (inout JSONObject) -> Void) async throws {
        var document = try await current(id) ?? [:]
        change(&document)
        try check(try await database.send(.put, RemoteDatabase.path(id), json: document))
    }

    func attach(_ id: String, _ name: String, _ type: String, _ content: [UInt8]) async throws {
        try check(
            try await database.send(
                .put, try await path(id, name), content, ["Content-Type": type]))
    }

    func detach(_ id: String, _ name: String) async throws {
        try check(try await database.send(.delete, try await path(id, name)))
    }

    func delete(_ id: String) async throws {
        let revision = try await current(id)?["_rev"]?.string ?? ""
        try check(try await database.send(.delete, "\(RemoteDatabase.path(id))?rev=\(revision)"))
    }

    private func path(_ id: String, _ name: String) async throws -> String {
        let revision = try await current(id)?["_rev"]?.string.map { "?rev=\($0)" }
        return RemoteDatabase.path(id) + "/" + PercentEncoding.encode(name) + (revision ?? "")
    }
}
