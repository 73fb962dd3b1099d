// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

extension Command {
    /// `divan rm`: deletion, which leaves a tombstone.
    static let rm = Command(
        CommandSchema(
            name: "rm",
            summary: "Delete documents.",
            discussion: """
                A deletion is a revision like any other: it replicates, and the history stays. All \
                documents named are deleted, or none of them. With --rev that leaf is deleted, \
                which resolves a conflict if it is not the winning one; it is a conflict if it is no \
                leaf any more.
                """,
            arguments: [
                .database,
                ArgumentSchema(name: "ID", summary: "IDs of documents.", count: .oneOrMore),
            ],
            options: [.value("rev", "r", "REV", "The leaf revision to delete.")],
            examples: ["divan rm notes.divan n1 n2", "divan rm notes.divan n1 --rev 2-c"])
    ) { invocation in
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let ids = invocation.arguments.documentIDs
        let revision = invocation.arguments.revisionID
        if revision != nil, ids.count > 1 {
            throw UsageError("--rev goes with a single document.")
        }
        let tombstones = try database.inBatch {
            try ids.compactMap { id -> Document? in
                if id.isLocal {
                    guard try database.localDocument(id) != nil else {
                        throw CommandFailure(.notFound, "There is no local document \"\(id)\".")
                    }
                    try database.deleteLocalDocument(id)
                    return nil
                }
                if let revision {
                    return try database.put(id, [:], parent: revision, options: .tombstone)
                }
                return try database.delete(try invocation.document(id, in: database))
            }
        }
        for tombstone in tombstones {
            try invocation.output.json(DocumentText.receipt(tombstone), pretty: false)
        }
    }

    /// `divan purge`: removal without a trace.
    static let purge = Command(
        CommandSchema(
            name: "purge",
            summary: "Remove documents without a trace.",
            discussion: """
                A purged document is gone from this database as if it had never been there, and \
                other databases do not hear of it: a replication may bring it back. All documents \
                named are purged, or none of them. With --rev only that leaf goes, with the \
                ancestors that no other leaf has.
                """,
            arguments: [
                .database,
                ArgumentSchema(name: "ID", summary: "IDs of documents.", count: .oneOrMore),
            ],
            options: [
                .value("rev", "r", "REV", "A leaf revision to purge.", repeats: true)
            ],
            examples: ["divan purge notes.divan n1"])
    ) { invocation in
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let ids = invocation.arguments.documentIDs
        let revisions = invocation.arguments.revisionIDs
        if !revisions.isEmpty, ids.count > 1 {
            throw UsageError("--rev goes with a single document.")
        }
        try database.inBatch {
            for id in ids {
                if revisions.isEmpty {
                    guard try database.purge(id) else {
                        throw CommandFailure(.notFound, "There is no document \"\(id)\".")
                    }
                } else {
                    let purged = try database.purge(id, revisions: revisions)
                    if let missing = revisions.first(where: { !purged.contains($0) }) {
                        throw CommandFailure(
                            .notFound, "Document \"\(id)\" has no leaf revision \(missing).")
                    }
                }
            }
        }
        invocation.output.remark("Purged \(Quantity.counted(ids.count, "document")).")
    }
}
