// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

// Whether the stub of a revision that was made elsewhere refers to content that its document has here already.
//
//     the nearest ancestor here   "photo": {"digest": "sha1-…", "length": 5}
//     the revision that arrives   "photo": {"digest": "md5-…",  "length": 5, "revpos": 0}
//
// Only the content decides. The `revpos` beside it is what another peer says of its own history: CouchDB keeps 0 where
// a restore named none, and says the same of other content that was written in the same way.
extension Snapshot {
    /// The stubs of a revision; nil when its body is not here.
    func stubs(_ id: DocumentID, _ node: RevisionTree.Node?) throws -> JSONObject? {
        // A new document has no stubs to carry on, and neither has one that was deleted.
        guard let node, !node.isTombstone else { return [:] }
        guard let sequence = node.sequence,
            let body = try body(id, sequence, expecting: node.id)
        else { return nil }
        guard case .object(let stubs)? = body["_attachments"]?.jsonValue() else { return [:] }
        return stubs
    }

    /// The nearest ancestor in a history whose body is here, and its stubs; nil when there is none.
    func nearestStubs(_ id: DocumentID, _ history: RevisionHistory, in tree: RevisionTree?) throws
        -> (stubs: JSONObject, generation: UInt64)?
    {
        for revision in history.ids.dropFirst() {
            guard let node = tree?.node(revision), node.sequence != nil else { continue }
            return try stubs(id, node).map { ($0, revision.generation) }
        }
        return nil
    }

    /// The stubs of the stored revisions of a document, by the MD5 of their contents as far as it is known without reading.
    func knownStubs(of id: DocumentID) throws -> NameMap<JSONObject> {
        var found: NameMap<JSONObject> = [:]
        for node in try record(id)?.tree.nodes ?? [] where node.sequence != nil {
            for (_, stub) in try stubs(id, node) ?? [:] {
                guard case .object(let stub) = stub,
                    let key = stub["digest"]?.string.flatMap(AttachmentKey.init(ofStub:)),
                    let md5 = try knownMD5(of: key)
                else { continue }
                found[ContentDigests.text(ofMD5: md5)] = stub
            }
        }
        return found
    }

    /// Whether a stub means the content that an ancestor has under the same name, which it may name by its MD5.
    func isSameContent(_ stub: JSONObject, _ former: JSONObject, isExisting: Bool) throws -> Bool {
        guard let digest = stub["digest"]?.string else {
            let position = stub["revpos"]
            return !isExisting || position == nil || position == former["revpos"]
        }
        let known = former["digest"]?.string
        if digest.hasSameBytes(as: known) { return true }
        guard digest.hasBytePrefix("md5-"),
            stub["length"] == former["length"],
            let key = known.flatMap(AttachmentKey.init(ofStub:))
        else { return false }
        return digest.hasSameBytes(as: try core.attachments.md5(of: key))
    }
}

extension ExistingRevision {
    /// Reads what the stubs are to be compared with, so that the transaction that stores the revision need not.
    func prepareComparisons(in database: Database) throws {
        guard case .object(let stubs)? = content.body["_attachments"]?.jsonValue(),
            stubs.contains(where: { $0.value["digest"]?.string?.hasBytePrefix("md5-") ?? false })
        else { return }
        try database.core.read { snapshot in
            let tree = try snapshot.record(id)?.tree
            guard let former = try snapshot.nearestStubs(id, history, in: tree)?.stubs else {
                return
            }
            for (name, stub) in stubs {
                guard case .object(let stub) = stub, case .object(let former)? = former[name] else {
                    continue
                }
                _ = try snapshot.isSameContent(stub, former, isExisting: true)
            }
        }
    }
}
