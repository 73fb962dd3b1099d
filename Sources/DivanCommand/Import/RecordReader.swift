// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

/// Makes a document of one record's JSON text.
///
/// Most records are plain objects: those are parsed into the stored form and nothing else. Only a
/// record that carries CouchDB's own properties, or gets some of ours, is taken apart.
struct RecordReader: Sendable {
    let rules: ImportRules
    /// Whether a record is a row around a document.
    let mayBeRows: Bool
    /// Whether a line of a continuous feed has come.
    private var isInFeed = false

    /// The properties that say something about a document and are no part of it.
    private static let metadataKeys = [
        "_id", "_rev", "_deleted", "_revisions", "_revs_info", "_conflicts", "_deleted_conflicts",
        "_local_seq", "_blobs",
    ]

    init(rules: ImportRules, mayBeRows: Bool) {
        self.rules = rules
        self.mayBeRows = mayBeRows
    }

    mutating func read(_ record: Span<UInt8>) throws -> ImportedDocument {
        let packed: PackedValue
        do {
            packed = try PackedValue(parsing: record)
        } catch {
            throw RecordProblem("not JSON. \(error)")
        }
        guard packed.kind == .object else {
            throw RecordProblem("not an object, which a document is.")
        }
        guard packed["_id"] == nil else { return try read(packed) }
        if rules.idField == nil, Self.isOfFeed(packed) { isInFeed = true }
        return try mayBeRows || isInFeed ? readRow(packed) : read(packed)
    }

    /// Whether a record is a line of a continuous feed, which looks like JSON lines.
    private static func isOfFeed(_ record: PackedValue) -> Bool {
        guard record["seq"] != nil, record["id"]?.kind == .string else { return false }
        var areRevisions: Bool?
        record["changes"]?.forEachElement {
            areRevisions = areRevisions != false && $0["rev"]?.kind == .string
        }
        return areRevisions ?? false
    }

    /// Takes the document out of a row of `_all_docs` or `_changes`.
    private func readRow(_ row: PackedValue) throws -> ImportedDocument {
        // The end of a feed.
        if row["last_seq"] != nil, row["doc"] == nil { return .nothing }
        if let document = row["doc"], document.kind == .object {
            // A value of its own: a part of a packed value is not one.
            let document = PackedValue(document.jsonValue())
            return try read(document)
        }
        if let error = row["error"]?.string {
            throw RecordProblem("the row reports an error: \(PrintableText.escaping(error)).")
        }
        let isDeleted = row["value"]?["deleted"]?.bool ?? row["deleted"]?.bool ?? false
        if isDeleted { return .nothing }
        throw RecordProblem("the row has no document: dump with include_docs=true.")
    }

    private func read(_ packed: PackedValue) throws -> ImportedDocument {
        let hasAttachments = packed["_attachments"] != nil
        let id = try documentID(packed)
        if !rules.dropsAttachments, !rules.keepsStubs {
            try checkAttachments(packed["_attachments"], of: id)
        }
        let isPlain =
            rules.additions.isEmpty && !hasAttachments
            && !Self.metadataKeys.contains { packed[$0] != nil }
        if isPlain {
            let document = try MutableDocument(body: packed, id: id)
            return .edit(document, body: packed)
        }
        let properties = properties(packed)
        let body = PackedValue(.object(properties))
        let isDeleted = packed["_deleted"]?.bool ?? false
        let blobs = try blobs(packed)
        // With other properties or without its attachments it is not the revision that its _rev names.
        let isChanged = !rules.additions.isEmpty || (rules.dropsAttachments && hasAttachments)
        if !rules.makesNewRevisions, !isChanged, let history = try history(packed) {
            guard let id else { throw RecordProblem("has a _rev and no _id.") }
            return .revision(
                id: id, history: history, isDeleted: isDeleted, body: body, blobs: blobs)
        }
        if isDeleted {
            guard let id else { throw RecordProblem("is deleted and has no _id.") }
            return .deletion(id: id)
        }
        if properties["_attachments"] != nil || !blobs.isEmpty {
            return .attached(
                id: id ?? MutableDocument().id, properties: properties, blobs: blobs)
        }
        return .edit(MutableDocument(properties, id: id), body: body)
    }

    /// Refuses attachments whose content is not in the record, as in a dump without `attachments=true`.
    private func checkAttachments(_ attachments: PackedValue?, of id: DocumentID?) throws {
        let owner =
            id.map { "\"\(PrintableText.escaping($0.text))\"" } ?? "a document without an _id"
        try attachments?.forEachProperty { name, entry in
            guard entry["data"] == nil else { return }
            throw RecordProblem(
                "the attachment \"\(PrintableText.escaping(name))\" of \(owner) has no content: dump with "
                    + "attachments=true, take it without by --stubs, or leave attachments out by "
                    + "--drop-attachments.")
        }
    }

    /// The contents of blobs that `divan export` writes, under their digests.
    private func blobs(_ packed: PackedValue) throws -> [Blob] {
        var blobs: [Blob] = []
        guard packed["_blobs"]?.isObject ?? true else {
            throw RecordProblem("has a _blobs that is no object of digests and contents.")
        }
        try packed["_blobs"]?.forEachProperty { digest, data in
            let blob = data.base64Bytes.map { Blob(contentType: nil, $0) }
            guard let blob, blob.digest.hasSameBytes(as: digest) else {
                throw RecordProblem(
                    "has a content under _blobs that is not base64, or not the one of its digest.")
            }
            blobs.append(blob)
        }
        return blobs
    }

    private func properties(_ packed: PackedValue) -> JSONObject {
        var object: JSONObject = [:]
        if case .object(let all) = packed.jsonValue() { object = all }
        for key in Self.metadataKeys { object.removeValue(forKey: key) }
        if rules.dropsAttachments { object.removeValue(forKey: "_attachments") }
        for (key, value) in rules.additions { object[key] = value }
        return object
    }

    private func documentID(_ packed: PackedValue) throws -> DocumentID? {
        let name = rules.idField ?? "_id"
        guard let value = packed[name] else {
            if rules.idField == nil { return nil }
            throw RecordProblem("has no property \"\(name)\", which --id-field names.")
        }
        if let text = value.string { return "\(rules.idPrefix)\(text)" }
        if let number = value.int64 { return "\(rules.idPrefix)\(number)" }
        throw RecordProblem("has a \"\(name)\" that is neither text nor a whole number.")
    }

    /// The revisions that the record names, newest first; `nil` if it names none.
    private func history(_ packed: PackedValue) throws -> [RevisionID]? {
        guard let revision = packed["_rev"] else { return nil }
        guard let newest = revision.string.map({ RevisionID($0) }) else {
            throw RecordProblem("has a _rev that is no text.")
        }
        guard let revisions = packed["_revisions"] else { return [newest] }
        guard let start = revisions["start"]?.int64, let ids = revisions["ids"], ids.count > 0,
            Int64(clamping: ids.count) <= start
        else { throw RecordProblem("has a _revisions that cannot be understood.") }
        var history: [RevisionID] = []
        ids.forEachElement { id in
            let generation = start.subtractingSaturated(Int64(clamping: history.count))
            history.append("\(generation)-\(id.string ?? "")")
        }
        guard newest == history.first else {
            throw RecordProblem("has a _revisions that does not begin with its _rev.")
        }
        return history
    }
}
