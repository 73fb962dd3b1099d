// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// The documents of `_replicator` that an edge writes.
extension EdgeSupervisor {
    /// Writes what a document is to say, unless it does, or an administrator has edited it.
    func write(
        _ document: EdgeDocument, _ stored: Document?, in replicator: Database, _ site: Site
    ) throws {
        let body = document.body(rules)
        if let stored {
            let old = stored.body.jsonValue().object ?? [:]
            guard EdgeDocument.isUnedited(old),
                old[EdgeDocument.mark] != body[EdgeDocument.mark] || isOver(document, old, site)
            else { return }
        }
        _ = try Self.racing {
            try replicator.put(document.id, body, parent: stored?.revisionID)
        }
    }

    /// Whether a replication has ended so long ago that it is tried again.
    private func isOver(_ document: EdgeDocument, _ body: JSONObject, _ site: Site) -> Bool {
        guard body["_replication_state"]?.string != nil,
            let job = site.replicator.job(document.id), job.running == nil
        else { return false }
        return AccountsFile.now.subtractingSaturated(job.updated)
            >= rules.hub.patience.components.seconds
    }

    /// Has a replication end for good.
    func end(_ document: EdgeDocument, _ stored: Document?, in replicator: Database) throws {
        guard let stored, stored.body["_replication_state"]?.string != "completed",
            EdgeDocument.isUnedited(stored.body.jsonValue().object ?? [:])
        else { return }
        let body = stored.body.replacing([
            "_replication_state": "completed",
            "_replication_state_time": .string(HTTPDate.iso(AccountsFile.now)),
            "_replication_state_reason": "The hub has deleted the database.",
        ])
        _ = try Self.racing {
            try replicator.put(document.id, body: body, parent: stored.revisionID, isDeleted: false)
        }
    }

    /// Removes the documents of databases that are not followed any more.
    func removeOthers(_ look: Look) throws {
        let replicator = try Self.replicator(look.site)
        var options = AllDocumentsOptions()
        (options.startID, options.endID) = EdgeDocument.range
        var ids: [DocumentID] = []
        try replicator.forEachDocumentID(options) { ids.append(DocumentID(copying: $0)) }
        for id in ids {
            guard let document = EdgeDocument(id), look.entries[document.name] == nil,
                !(rules.hub.carriesUsers
                    && document.name.hasSameBytes(as: SystemDatabase.users.rawValue)),
                let stored = try replicator.document(withID: id),
                EdgeDocument.isUnedited(stored.body.jsonValue().object ?? [:])
            else { continue }
            _ = try Self.racing { try replicator.delete(stored) }
        }
    }

    /// Makes a change, unless the replicator or an administrator makes another one at the same time: the next look sees that.
    private static func racing<Result>(_ change: () throws -> Result) throws -> Result? {
        do { return try change() } catch let error as DatabaseError where error.code == .conflict {
            return nil
        }
    }
}
