// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// What decides the final stubs of a revision.
struct AttachmentRules {
    /// The new revision's generation.
    var generation: UInt64
    /// Whether the revision was made elsewhere: then its stubs are kept as they are.
    var isExisting = false
    /// Whether a stub may stand for content that is not here.
    var allowsMissing = false
    /// Whether such a stub must hold enough to fetch the content later, and to recognise it then.
    var isDeferring = false
    /// Whether the revision joins branches: a stub may be that of any of them.
    var isMerge = false
    /// Whether a stub may only stand for content that a stored revision of the same document has.
    var isLimitedToOwnContents = false
    /// The stubs of the parent, or of the nearest stored ancestor; nil when its body is not here.
    var parent: JSONObject?
    /// The generation of that ancestor, for a revision made elsewhere; 0 where it is not known.
    var ancestorGeneration: UInt64 = 0

    /// Whether an edit has a stub from elsewhere, rather than from its parent.
    func isNewStub(_ name: String) -> Bool {
        !isExisting && !isMerge && parent.map { $0[name] == nil } ?? false
    }
}

// Attachments in a write: final stubs, files, rows. All of it comes before the edit's first row, so
// that a refusal leaves the batch as it was, and at most files that the next sweep removes.
extension WriteContext {
    /// Gives an edit its final body: each stub complete, each content under its final name.
    ///
    /// A body without attachments and blobs comes back as it is, for one search through its bytes.
    ///
    /// - Throws: `.attachmentNotFound` when a stub's content is not here, `.invalidDocument`, `.io`,
    ///   `.storageFull`.
    func resolve(
        _ content: RevisionContent, of id: DocumentID,
        _ rules: @autoclosure () throws -> AttachmentRules
    ) throws -> RevisionContent {
        let given = content.body["_attachments"]
        guard given != nil || content.pending != nil || content.body.mayHoldBlobs else {
            return content
        }
        var content = content
        try copyContents(of: content, id)
        if given != nil || content.pending?.contents.isEmpty == false {
            var rules = try rules()
            rules.isLimitedToOwnContents = content.isLimitedToOwnContents
            try resolveStubs(&content, given, id, rules)
        }
        let (_, snapshot) = try transaction()
        let store = snapshot.core.attachments
        for blob in content.pending?.blobs ?? [] {
            if let pending = try content.pending?.content(of: blob, for: store) {
                _ = try place(pending, id)
            }
        }
        content.references = try content.body.attachmentKeys.map {
            let isAbsent = try store.length(of: $0) == nil
            return AttachmentReference(
                key: $0, isAbsent: isAbsent, md5: isAbsent ? nil : try snapshot.knownMD5(of: $0))
        }
        return content
    }

    private func resolveStubs(
        _ content: inout RevisionContent, _ given: PackedValue?, _ id: DocumentID,
        _ rules: AttachmentRules
    ) throws {
        var stubs: JSONObject = [:]
        if let given {
            guard case .object(let object) = given.jsonValue() else {
                throw DatabaseError.attachmentsMalformed(id)
            }
            stubs = object
        }
        var final: JSONObject = [:]
        let pending = content.pending ?? PendingAttachments()
        var known = KnownContents(id)
        for (name, stub) in stubs where !pending.replacesStub(name) {
            try checkName(name, isNew: rules.isNewStub(name), id)
            guard case .object(let stub) = stub else {
                throw DatabaseError.attachmentsMalformed(id)
            }
            final[name] = .object(try resolve(stub, name, id, rules, &known))
        }
        for (name, addition) in pending.contents {
            try checkName(name, isNew: !rules.isExisting, id)
            final[name] = .object(try add(addition, name, id, rules))
        }
        guard final != stubs || (final.isEmpty && !pending.keepsEmpty) else { return }
        // A literal nil would be JSON's null.
        let isLeftOut = final.isEmpty && !pending.keepsEmpty
        let value = isLeftOut ? JSONValue?.none : .some(.object(final))
        content.body = content.body.replacing(["_attachments": value])
    }

    /// Refuses a name that no attachment may have, and one that no new attachment may have.
    ///
    /// CouchDB refuses names that begin with an underscore, and a PouchDB that pulls one stops there, for all
    /// documents behind it. Those that are here or come from elsewhere stay.
    private func checkName(_ name: String, isNew: Bool, _ id: DocumentID) throws {
        let isRefused = isNew && (name.isEmpty || name.utf8.first == UInt8(ascii: "_"))
        guard !isRefused, !name.utf8.contains(0) else {
            throw DatabaseError.attachmentName(name, id)
        }
    }

    // MARK: - Stubs

    /// A stub as it is stored: with its digest and its revision position, its content here.
    private func resolve(
        _ given: JSONObject, _ name: String, _ id: DocumentID, _ rules: AttachmentRules,
        _ known: inout KnownContents
    ) throws -> JSONObject {
        var stub = given
        if !rules.isExisting, !rules.isMerge {
            // For an edit, properties that mean nothing here are taken from the parent.
            for key in given.keys where !AttachmentMetadata.knownKeys.contains(key) {
                stub[key] = nil
            }
        }
        stub["follows"] = nil
        stub["stub"] = true
        let former: JSONObject? =
            if case .object(let stub)? = rules.parent?[name] { stub } else { nil }
        let (_, snapshot) = try transaction()
        if let former,
            try snapshot.isSameContent(stub, former, isExisting: rules.isExisting)
        {
            // Only the parent says how the content is kept here: a peer may keep it coded.
            for key in Self.keptForm { stub[key] = former[key] }
            // All else is as the parent says, except where the edit says otherwise.
            for (key, value) in former where stub[key] == nil { stub[key] = value }
            let isSameType = stub["content_type"] == former["content_type"]
            stub["revpos"] =
                rules.isExisting
                ? revisionPosition(given, rules, former: former)
                : isSameType ? former["revpos"] : JSONValue(rules.generation)
            return stub
        }
        // Clients know content by its MD5, also where they give it another name or take it from an older revision.
        if let md5 = stub["digest"]?.string, md5.hasBytePrefix("md5-") {
            let other = try known.stub(withMD5: md5, in: snapshot)
            if let other { for key in Self.keptForm { stub[key] = other[key] } }
        }
        let label = DatabaseError.label(ofAttachment: name)
        if rules.allowsMissing {
            stub["revpos"] = revisionPosition(given, rules)
            return stub
        }
        guard let key = stub["digest"]?.string.flatMap(AttachmentKey.init(ofStub:)) else {
            throw DatabaseError.attachmentUnknown(label, id)
        }
        if rules.isLimitedToOwnContents, try !known.contains(key, in: snapshot) {
            throw DatabaseError.attachmentUnknown(label, id)
        }
        guard let length = try snapshot.core.attachments.length(of: key) else {
            stub["revpos"] = revisionPosition(given, rules)
            // An edit may refer to content that a revision here still waits for; a merge does.
            let isAwaited = try !rules.isExisting && known.awaits(key, in: snapshot)
            guard rules.isDeferring || isAwaited, (try? AttachmentMetadata(stub)) != nil else {
                throw DatabaseError.attachmentUnknown(label, id)
            }
            return stub
        }
        let member = stub["encoding"] == nil ? "length" : "encoded_length"
        let declared = stub[member] ?? JSONValue(UInt64(length))
        guard declared.int64 == Int64(length) else {
            throw DatabaseError.attachmentLength(
                label, id, found: length, declared: Int(declared.int64 ?? -1))
        }
        stub[member] = declared
        stub["revpos"] = revisionPosition(given, rules)
        return stub
    }

    /// What a stub says of the form in which the content is kept.
    private static let keptForm = ["digest", "length", "encoding", "encoded_length"]

    /// The generation that content came with: what its stub says, where that is possible.
    ///
    /// Other ends say anything: 0 where they did not know it, or an old generation of content that is new. A peer that is
    /// sent this revision later goes by what stands here, so it is above that of an ancestor which is known to lack the content.
    /// `former` is the ancestor's stub, where it has the same content.
    private func revisionPosition(
        _ given: JSONObject, _ rules: AttachmentRules, former: JSONObject? = nil
    ) -> JSONValue {
        let lowest = former == nil ? rules.ancestorGeneration : 0
        // Without the parent's body it is unknown whether the content is new.
        if rules.isExisting || rules.parent == nil, let position = given["revpos"]?.uint64,
            position > lowest, position <= rules.generation
        {
            return JSONValue(position)
        }
        return former?["revpos"] ?? JSONValue(rules.generation)
    }

    // MARK: - Content

    /// The stub of content that comes with the edit.
    private func add(
        _ pending: PendingAttachment, _ name: String, _ id: DocumentID, _ rules: AttachmentRules
    ) throws -> JSONObject {
        let facts = try place(pending, id)
        var stub = pending.given
        for key in ["data", "follows", "revpos"] { stub[key] = nil }
        stub["content_type"] = pending.contentType.map { .string($0) }
        stub["digest"] = .string(facts.key.digest)
        stub["length"] = JSONValue(UInt64(facts.decodedLength))
        stub["encoding"] = pending.content.encoding.map { .string($0) }
        stub["encoded_length"] = pending.content.encoding.map { _ in
            JSONValue(UInt64(facts.length))
        }
        stub["stub"] = true
        var former: JSONObject?
        if case .object(let stored)? = rules.parent?[name], stored["digest"] == stub["digest"] {
            former = stored
        }
        guard !rules.isExisting else {
            stub["revpos"] = revisionPosition(pending.given, rules, former: former)
            return stub
        }
        // Content that an edit brings is new, whatever its stub says; setting what is there already changes
        // nothing.
        let isSameType = former?["content_type"] == stub["content_type"]
        stub["revpos"] =
            former.flatMap { isSameType ? $0["revpos"] : nil } ?? JSONValue(rules.generation)
        return stub
    }

    /// Gives content its final name, in this transaction.
    private func place(_ pending: PendingAttachment, _ id: DocumentID) throws
        -> PendingAttachment.Facts
    {
        let (_, snapshot) = try transaction()
        let store = snapshot.core.attachments
        let facts = try pending.place(in: store, for: id, until: outcome)
        hasPlacedAttachments = true
        if !pending.content.isLasting { releaseAtEnd(pending) }
        store.knownMD5s.note(facts.md5, of: facts.key)
        return facts
    }

    /// Stores content that no revision refers to yet.
    func store(_ pending: PendingAttachment) throws {
        _ = try place(pending, DocumentID(""))
    }

    /// Copies what the body of a document of another database refers to and is not here.
    ///
    /// What that database does not have either stays as it is: an object that names content which is elsewhere.
    private func copyContents(of content: RevisionContent, _ id: DocumentID) throws {
        guard content.origin != 0 else { return }
        let (_, snapshot) = try transaction()
        let store = snapshot.core.attachments
        guard content.origin != store.number else { return }
        guard let source = AttachmentStores.store(content.origin) else {
            return try checkBlobs(of: content, id, snapshot)
        }
        for key in content.body.attachmentKeys where !key.mayBeMD5 {
            guard try store.length(of: key) == nil else { continue }
            let file: ContentFile?
            do { file = try source.open(key) } catch { throw DatabaseError.io(error) }
            guard let file, let length = file.length else { continue }
            let copy = AttachmentContent(.handle(file, length: length))
            let pending = PendingAttachment(
                copy.expecting(digest: key.digest), contentType: nil, label: "An attachment")
            _ = try place(pending, id)
        }
    }

    /// Refuses blobs of a database that is closed, unless their content comes along or is known here.
    ///
    /// Content is known here, too, that an object of a blob in a stored revision names, wherever it is.
    private func checkBlobs(of content: RevisionContent, _ id: DocumentID, _ snapshot: Snapshot)
        throws
    {
        guard content.body.mayHoldBlobs else { return }
        let given = content.pending?.blobs.filter { $0.pending != nil }.map(\.digest) ?? []
        var keys: [AttachmentKey] = []
        content.body.forEachBlob {
            if let key = $0["digest"]?.string.flatMap(AttachmentKey.init(digest:)) {
                keys.append(key)
            }
        }
        for key in keys where !given.contains(where: { $0.hasSameBytes(as: key.digest) }) {
            guard
                try snapshot.core.attachments.length(of: key) != nil || snapshot.isReferenced(key)
            else { throw DatabaseError.blobUnknown(id) }
        }
    }

    // MARK: - Rows

    /// Writes the rows that keep a revision's contents.
    func writeReferences(
        _ references: [AttachmentReference], _ sequence: SequenceNumber,
        _ writer: any StorageWriter, _ core: DatabaseCore
    ) throws {
        for reference in references {
            try writer.set(
                reference.value.span, forKey: reference.rowKey(sequence).span,
                in: core.stores.attachmentReferences)
        }
    }

    /// Removes the rows of a revision, whose own row is still there.
    func removeReferences(
        _ sequence: SequenceNumber, _ id: DocumentID, _ revision: RevisionID,
        _ writer: any StorageWriter, _ snapshot: Snapshot
    ) throws {
        let store = snapshot.core.stores.attachmentReferences
        if let body = try? snapshot.body(id, sequence, expecting: revision) {
            for key in body.attachmentKeys {
                let row = AttachmentReference.rowKey(key, sequence)
                _ = try writer.remove(key: row.span, in: store)
            }
            return
        }
        // A body that cannot be read does not tell its contents, so the rows are searched.
        var rows: [[UInt8]] = []
        let cursor = try snapshot.reader.cursor(in: store)
        var found = try cursor.seekToFirst()
        while found {
            try cursor.withKey { key in
                if let row = try? AttachmentReference.decode(key), row.sequence == sequence {
                    rows.append(AttachmentReference.rowKey(row.key, sequence))
                }
            }
            found = try cursor.next()
        }
        cursor.close()
        for row in rows { _ = try writer.remove(key: row.span, in: store) }
    }
}

extension Snapshot {
    /// Whether any stored revision refers to a content.
    func isReferenced(_ key: AttachmentKey) throws -> Bool {
        let cursor = try reader.cursor(in: core.stores.attachmentReferences)
        defer { cursor.close() }
        guard try cursor.seek(toAtLeast: AttachmentReference.rowKey(key, 0).span) else {
            return false
        }
        var isSame = false
        try cursor.withKey { isSame = AttachmentKey($0) == key }
        return isSame
    }
}
