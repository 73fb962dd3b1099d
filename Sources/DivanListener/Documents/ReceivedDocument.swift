// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanReplication

/// A document as a client sent it: its special members taken out of the body, which stays packed.
struct ReceivedDocument: Sendable {
    var id: DocumentID?
    var revision: RevisionID?
    var isDeleted = false
    /// The revision and its ancestors, when the client told them.
    var history: [RevisionID]?
    /// When the document is to expire; nil when the client did not say.
    var expiration: ReceivedExpiration?
    /// The body, with `_attachments` and without the other special members.
    var body: PackedValue

    /// Takes a document apart.
    ///
    /// A local document has no history. CouchDB's replicator sends one all the same, `{"start":0,…}`, when
    /// it saves a checkpoint that it has read before.
    ///
    /// - Throws: `HTTPFailure` 400 when it is no object, or a special member is unknown or of the
    ///   wrong type.
    init(_ value: PackedValue, isLocal: Bool = false) throws {
        guard value.isObject else {
            throw HTTPFailure.notADocument
        }
        var removed: NameMap<JSONValue?> = [:]
        for key in value.reservedKeys {
            if WireDocument.keptKeys.contains(key) { continue }
            switch key {
            case "_exp": expiration = try value[key].map(ReceivedExpiration.init)
            case "_revisions" where isLocal || id?.isLocal ?? false: break
            default: try Self.read(key, value[key], &id, &revision, &isDeleted, &history)
            }
            removed[key] = JSONValue?.none
        }
        body = removed.isEmpty ? PackedValue(bytes: value.bytes) : value.replacing(removed)
        if history == nil, let revision { history = [revision] }
    }

    /// Refuses what is longer than the settings allow: the document without its attachments, and the content of one that is
    /// in place.
    ///
    /// - Throws: `HTTPFailure` 413.
    func checkLengths(_ settings: ListenerSettings) throws {
        if let longest = settings.longestDocument {
            let attachments = body["_attachments"]?.byteCount ?? 0
            guard body.byteCount - attachments <= longest else {
                throw HTTPFailure(
                    413, "document_too_large",
                    "The document is longer than the \(longest) bytes of max_document_size."
                ).ofDocument
            }
        }
        let limit = settings.longestAttachment
        guard limit < .max else { return }
        try body["_attachments"]?.forEachProperty { name, entry in
            guard let data = entry["data"]?.string else { return }
            let digits = data.utf8.prefix { $0 != UInt8(ascii: "=") }.count
            guard digits / 4 * 3 + digits % 4 * 3 / 4 <= limit else {
                throw HTTPFailure.attachmentTooLarge(name)
            }
        }
    }

    /// Refuses revision IDs that CouchDB cannot read: it takes 32 characters for hexadecimal digits, and its replicator stops
    /// at a feed that has others.
    ///
    /// - Throws: `HTTPFailure` 400.
    func checkRevisions() throws {
        for revision in history ?? [] where revision.isValid {
            let digest = revision.digest.utf8
            let isHexadecimal = digest.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
            guard digest.count != 32 || isHexadecimal else {
                throw HTTPFailure.badRequest(
                    "The 32 characters of a revision ID are not hexadecimal digits, which CouchDB refuses."
                ).ofDocument
            }
        }
    }

    /// Refuses stubs of content that came later than the revision that is edited: the client means another branch.
    ///
    /// - Throws: `HTTPFailure` 412.
    func checkStubs(of base: RevisionID?, _ id: DocumentID) throws {
        guard let base, let entries = body["_attachments"] else { return }
        var isBeyond = false
        entries.forEachProperty { _, entry in
            guard entry["stub"]?.bool == true, entry["data"] == nil,
                let position = entry["revpos"]?.jsonValue().uint64
            else { return }
            if position > base.generation { isBeyond = true }
        }
        if isBeyond { throw HTTPFailure.missingStub(id) }
    }

    /// Refuses names of attachments that begin with an underscore, unless the document here has them already.
    ///
    /// CouchDB takes no document that has one, and a PouchDB that pulls one stops there, for all documents behind it.
    /// Couchbase Lite 1.x takes them, so what Divan pulls by itself or imports may have them.
    ///
    /// - Throws: `HTTPFailure` 400.
    func checkAttachmentNames(_ existing: () throws -> Document?) throws {
        let names = (body["_attachments"]?.keys ?? []).filter { $0.utf8.first == UInt8(ascii: "_") }
        guard !names.isEmpty else { return }
        let document = try existing()
        for name in names where document?.attachment(named: name) == nil {
            throw HTTPFailure.badRequest(
                "Attachment name '\(name.prefix(200))' starts with prohibited character '_'"
            ).ofDocument
        }
    }

    /// Refuses the mark by which a Sync Gateway takes a document away from its readers: those who replicate from here may
    /// purge what they have of it.
    ///
    /// - Throws: `HTTPFailure` 400.
    func checkRemoval() throws {
        guard body["_removed"] == nil else {
            throw HTTPFailure.invalidDocument("Bad special document member: _removed")
        }
    }

    private static func read(
        _ key: String, _ value: PackedValue?, _ id: inout DocumentID?,
        _ revision: inout RevisionID?,
        _ isDeleted: inout Bool, _ history: inout [RevisionID]?
    ) throws {
        guard let value else { return }
        switch key {
        case "_id":
            guard let text = value.string else {
                throw HTTPFailure.illegalID("Document id must be a string")
            }
            id = DocumentID(text)
        case "_rev":
            guard let text = value.string else {
                throw HTTPFailure.invalidRevision.ofDocument
            }
            revision = RevisionID(text)
        case "_deleted":
            guard let flag = value.bool else {
                throw HTTPFailure.invalidDocument("`_deleted` must be true or false.")
            }
            isDeleted = flag
        case "_revisions": history = try revisions(value)
        default:
            if WireDocument.ignoredKeys.contains(key) { return }
            throw HTTPFailure.invalidDocument("Bad special document member: \(key.prefix(60))")
        }
    }

    /// The revision IDs that `_revisions` abbreviates.
    private static func revisions(_ value: PackedValue) throws -> [RevisionID] {
        let failure = HTTPFailure.invalidDocument("Bad `_revisions` member")
        guard let start = value["start"]?.int64, let ids = value["ids"], start > 0 else {
            throw failure
        }
        var history: [RevisionID] = []
        try ids.forEachElement { item in
            let generation = start.subtractingSaturated(Int64(clamping: history.count))
            guard let digest = item.string, generation > 0 else { throw failure }
            history.append("\(generation)-\(digest)")
        }
        guard !history.isEmpty else { throw failure }
        return history
    }
}
