// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON
package import DivanModel

/// One revision of a document as peers send it to each other: a JSON object in which properties that
/// begin with an underscore belong to the protocol.
///
///     {"_id": "note",  "_rev": "2-b…",                                 which revision of what
///      "_revisions": {"start": 2, "ids": ["b…", "a…"]},                its ancestors
///      "_deleted": true,                                               a tombstone
///      "_attachments": {"a": {"stub": true, "digest": "md5-…", …},     content the receiver has
///                       "b": {"data": "aGVsbG8=", …},                  content in place
///                       "c": {"follows": true, "length": 90000, …}},   content in a later part
///      "title": "…"}                                                   the body
///
/// ```swift
/// let document = try WireDocument(parsing: text.span)
/// for name in document.followingNames { … }     // these contents come in later parts
/// ```
///
/// The text is parsed once, into the packed form that is stored; what belongs to the protocol is then
/// taken out of it, and no dictionary is built but for attachments.
///
/// Properties of the protocol that only answer a question (`_conflicts`, `_revs_info`, `_local_seq` …)
/// are left out. Any other property with an underscore is refused, as CouchDB does, but for the few
/// that other systems keep in bodies: see ``keptKeys``.
package struct WireDocument: Sendable {
    /// The document's ID; nil when the object names none, as in a POST.
    package var id: DocumentID?
    /// `_rev`, or the first of `_revisions`.
    package var revision: RevisionID?
    /// `_revisions`, or `_rev` alone: newest first. nil when neither is given.
    package var history: RevisionHistory?
    /// Whether this is a tombstone.
    package var isDeleted: Bool
    /// The stored form of the rest. Its `_attachments`, if any, hold no content.
    package var body: PackedValue
    /// The content that stood in place, by the attachment's name.
    package var inlineContents: NameMap<AttachmentContent>
    /// The names of the attachments whose content follows in later parts, in the order of names.
    package var followingNames: [String]
    /// Whether the source itself says that the reader may no longer see the document. Only what knows the source sets it:
    /// a body alone, which any writer there may have made, does not.
    package var isRemoved = false

    /// Properties that are part of the body though they begin with an underscore: attachments, the
    /// mark of a revision that the receiver may no longer see, and what CouchDB keeps.
    package static let keptKeys: NameSet = [
        "_attachments", "_removed", "_access", "_replication_id", "_replication_state",
        "_replication_state_time", "_replication_state_reason", "_replication_stats",
    ]

    /// Properties that answer a question about the document and are no part of it.
    package static let ignoredKeys: NameSet = [
        "_revs_info", "_conflicts", "_deleted_conflicts", "_local_seq", "_purged",
    ]

    /// Reads a document's text.
    ///
    /// - Parameters:
    ///   - text: The JSON text.
    ///   - historyLimit: How many revisions of its history to keep; the rest is not looked at.
    /// - Throws: `WireDocumentError`.
    package init(parsing text: Span<UInt8>, historyLimit: Int = .max) throws(WireDocumentError) {
        let value: PackedValue
        do throws(JSONParser.Failure) { value = try PackedValue(parsing: text) } catch {
            throw .malformedJSON(error)
        }
        try self.init(value, historyLimit: historyLimit)
    }

    /// Takes a document that is parsed already, such as one of many in an array.
    ///
    /// - Parameters:
    ///   - value: The object.
    ///   - historyLimit: How many revisions of its history to keep.
    /// - Throws: `WireDocumentError`.
    package init(_ value: PackedValue, historyLimit: Int = .max) throws(WireDocumentError) {
        guard value.isObject else { throw .notAnObject() }
        let reserved = value.reservedKeys
        var reader = WireDocumentReader(value, historyLimit: historyLimit)
        for key in reserved { try reader.read(key) }
        id = reader.id
        isDeleted = reader.isDeleted
        history = try reader.finalHistory()
        revision = history?.newest
        let attachments = try reader.attachments()
        inlineContents = attachments.contents
        followingNames = attachments.following
        var changes = reader.removed
        if let stubs = attachments.changed { changes["_attachments"] = .object(stubs) }
        // A value inside another one becomes a root of its own either way.
        body = changes.isEmpty ? PackedValue(bytes: value.bytes) : value.replacing(changes)
    }

    /// Makes a document of its parts, for a peer that needs no text.
    package init(
        id: DocumentID, history: RevisionHistory, isDeleted: Bool, body: PackedValue,
        contents: NameMap<AttachmentContent> = [:]
    ) {
        self.id = id
        self.history = history
        revision = history.newest
        self.isDeleted = isDeleted
        self.body = body
        inlineContents = contents
        followingNames = []
    }

    /// Whether the body says `_removed` and nothing else, as that of a document which its reader may no longer see.
    package var saysRemoved: Bool { body.count == 1 && body["_removed"]?.bool ?? false }

    /// Whether the revision has attachments.
    package var hasAttachments: Bool { (body["_attachments"]?.count ?? 0) > 0 }

    /// The bytes of it that are in memory: its packed body, and content that stood in place.
    var heldBytes: Int {
        inlineContents.values.reduce(body.byteCount) { $0.addingSaturated($1.heldBytes) }
    }

    /// The document's ID, which a replicated revision must have.
    package func requiredID() throws(WireDocumentError) -> DocumentID {
        guard let id else { throw .missingID() }
        return id
    }

    /// The revision's history, which a replicated revision must have.
    package func requiredHistory() throws(WireDocumentError) -> RevisionHistory {
        guard let history else {
            throw .invalidRevision(id, "has neither _rev nor _revisions")
        }
        return history
    }
}

/// Takes the protocol's properties out of a parsed document, one by one.
private struct WireDocumentReader {
    private let value: PackedValue
    private let historyLimit: Int
    private(set) var id: DocumentID?
    private var revision: RevisionID?
    private var history: RevisionHistory?
    private(set) var isDeleted = false
    /// What is no part of the body.
    private(set) var removed: NameMap<JSONValue?> = [:]

    init(_ value: PackedValue, historyLimit: Int) {
        self.value = value
        self.historyLimit = historyLimit
        // Read first, so that every sentence can name the document.
        if let text = value["_id"]?.string { id = try? DocumentID(validating: text) }
    }

    mutating func read(_ key: String) throws(WireDocumentError) {
        guard let property = value[key] else { return }
        switch key {
        case "_id":
            guard let text = property.string else { throw .invalidID(nil) }
            do throws(IDFailure) { id = try DocumentID(validating: text) } catch {
                throw .invalidID(text, error)
            }
        case "_rev": try readRevision(property)
        case "_revisions": try readHistory(property)
        case "_deleted":
            guard let flag = property.bool else { throw .reserved(key, id) }
            isDeleted = flag
        default:
            if WireDocument.keptKeys.contains(key) { return }
            guard WireDocument.ignoredKeys.contains(key) else { throw .reserved(key, id) }
        }
        removed.updateValue(nil, forKey: key)
    }

    private mutating func readRevision(_ property: PackedValue) throws(WireDocumentError) {
        guard let text = property.string else {
            throw .invalidRevision(id, "has a _rev that is no string")
        }
        do throws(IDFailure) { revision = try RevisionID(validating: text) } catch {
            throw .invalidRevision(id, "has a _rev that is no revision ID")
        }
    }

    private mutating func readHistory(_ property: PackedValue) throws(WireDocumentError) {
        guard let start = property["start"]?.int64, start >= 1 else {
            throw .invalidRevision(id, "has a _revisions.start that is no integer above 0")
        }
        guard let ids = property["ids"], ids.kind == .array, ids.count >= 1 else {
            throw .invalidRevision(id, "has a _revisions.ids that is no array of digests")
        }
        guard ids.count <= start else {
            throw .invalidRevision(id, "has more _revisions.ids than its start allows")
        }
        var digests: [String] = []
        for index in 0..<min(ids.count, historyLimit) {
            guard let digest = ids[index]?.string else {
                throw .invalidRevision(id, "has a _revisions.ids that is no array of digests")
            }
            digests.append(digest)
        }
        do throws(IDFailure) {
            history = try RevisionHistory(start: UInt64(clamping: start), digests: digests)
        } catch {
            throw .invalidRevision(
                id, "has _revisions that make no history: \(error.description.dropLast())")
        }
    }

    /// The history, which must agree with `_rev` where both are given.
    func finalHistory() throws(WireDocumentError) -> RevisionHistory? {
        guard let history else { return revision.map { RevisionHistory($0) } }
        if let revision, revision != history.newest {
            throw .invalidRevision(id, "has a _rev that is not the first of its _revisions")
        }
        return history
    }
}

extension WireDocumentReader {
    /// What becomes of `_attachments`.
    struct Attachments {
        var contents: NameMap<AttachmentContent> = [:]
        var following: [String] = []
        /// The entries without the content that stood in them; nil when none did.
        var changed: JSONObject?
    }

    func attachments() throws(WireDocumentError) -> Attachments {
        var attachments = Attachments()
        guard let property = value["_attachments"] else { return attachments }
        guard property.isObject else { throw .attachments(id, "are no object") }
        var (stubs, hasData) = (JSONObject(), false)
        var failure: WireDocumentError?
        property.forEachProperty { name, entry in
            guard failure == nil else { return }
            do throws(WireDocumentError) {
                stubs[name] = .object(try stub(name, entry, &attachments, &hasData))
            } catch { failure = error }
        }
        if let failure { throw failure }
        if hasData { attachments.changed = stubs }
        return attachments
    }

    /// An entry without the content that stood in it, which is decoded where it lies: no value is made of it.
    private func stub(
        _ name: String, _ entry: PackedValue, _ attachments: inout Attachments,
        _ hasData: inout Bool
    ) throws(WireDocumentError) -> JSONObject {
        guard entry.isObject else {
            throw .attachments(id, "hold something that is no object")
        }
        var stub = JSONObject()
        entry.forEachProperty { key, value in
            if !key.hasSameBytes(as: "data") { stub[key] = value.jsonValue() }
        }
        guard let data = entry["data"] else {
            if stub["follows"]?.bool ?? false { attachments.following.append(name) }
            return stub
        }
        guard let bytes = data.base64Bytes else {
            throw .attachments(id, "have data that is not base64")
        }
        hasData = true
        Self.settleCoding(of: bytes, &stub)
        attachments.contents[name] = .bytes(bytes)
        return stub
    }

    /// Makes an entry say what its content in place is.
    ///
    /// CouchDB sends content in place decoded, yet with the digest of what it stores, which it codes by
    /// gzip on its own account for many media types and only tells when asked to. Couchbase Lite sends
    /// what it stores. So the bytes decide: what begins like gzip and has the coded length is coded.
    /// Otherwise an MD5 proves nothing and is left out; a SHA-1 names the bytes themselves.
    private static func settleCoding(of bytes: [UInt8], _ stub: inout JSONObject) {
        if stub["encoding"] != nil {
            let isCoded = bytes.starts(with: [0x1F, 0x8B])
            let declared = stub["encoded_length"]?.int64
            if isCoded, declared == nil || declared == Int64(clamping: bytes.count) { return }
            for key in ["encoding", "encoded_length", "digest"] { stub[key] = nil }
        } else if stub["digest"]?.string?.hasBytePrefix("md5-") ?? false {
            stub["digest"] = nil
        }
    }
}
