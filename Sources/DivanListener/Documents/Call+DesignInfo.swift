// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanMaintenance
internal import DivanModel
internal import DivanQuery

// How the indexes of a design document stand.
extension Call {
    /// `GET /{db}/_design/{ddoc}/_info`
    func designInfo() throws -> ListenerResponse {
        let database = try indexedDatabase
        let design = try readableDocument("_design/\(name(0))")
        if let design, !site.options.scripts.isEmpty {
            // A design document that nothing runs has information, too.
            try? database.designDocuments.prepareViews(of: design)
        }
        let names = try indexNames(in: database)
        guard !names.isEmpty || design != nil else { throw HTTPFailure.missing }
        var info: JSONObject = [
            "name": .string(name(0)),
            "view_index": .object(try viewIndex(names, of: design, in: database)),
        ]
        if let body = design?.body, let function = body["validate_doc_update"],
            function.kind != .null
        {
            let isUnrun = database.hasUnrunValidation(body, of: "_design/\(name(0))")
            info["validate_doc_update"] = ["is_run": .bool(!isUnrun)]
        }
        return .json(.object(info))
    }

    /// The views and the indexes on properties that are known under the name of the design document.
    private func indexNames(in database: Database) throws -> [String] {
        let prefix = DesignItem.prefix(name(0))
        let all = try database.viewNames() + database.indexes().map(\.name)
        return all.filter { $0.hasBytePrefix(prefix) }
    }

    private func viewIndex(_ names: [String], of design: Document?, in database: Database) throws
        -> JSONObject
    {
        let stored = try database.storedIndexes { name in
            names.contains { $0.hasSameBytes(as: name) }
        }
        let last = try database.read { try $0.lastSequence }
        // A design document without views waits for nothing; one whose views were never asked for waits for all.
        let isOfViews = !names.isEmpty || design?["views"].value?.object?.count ?? 0 > 0
        let isComplete = names.allSatisfy { name in
            stored.contains { $0.name.hasSameBytes(as: name) }
        }
        let least = isComplete ? stored.map(\.lastSequence).min() : 0
        let indexed = least ?? (isOfViews ? 0 : last)
        let pending = JSONValue(last - min(last, indexed))
        let size = JSONValue(stored.reduce(0) { $0.addingSaturated($1.bytes) })
        let language = design?["language"].string ?? (design == nil ? "swift" : "javascript")
        let versions = stored.map(\.version).joined(separator: " ")
        let waiting = database.waitingClients(of: name(0))
        return [
            "updater_running": .bool(waiting > 0), "waiting_clients": JSONValue(waiting),
            // Indexes are compacted with their database.
            "compact_running": .bool(database.isCompacting), "waiting_commit": false,
            "language": .string(language), "update_seq": JSONValue(indexed),
            "purge_seq": JSONValue(stored.map(\.lastPurge).min() ?? 0),
            "signature": .string(HexText.text(Fingerprint.of(versions))),
            "sizes": ["file": size, "active": size, "external": size],
            "collator_versions": [.string(DesignDocuments.collatorVersion)],
            "updates_pending": ["minimum": pending, "preferred": pending, "total": pending],
        ]
    }
}
