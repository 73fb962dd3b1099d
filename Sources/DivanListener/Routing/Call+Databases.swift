// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanLogging
internal import DivanMaintenance
internal import DivanModel
internal import DivanQuery

// Databases as a whole.
extension Call {
    /// `GET /{db}`
    func databaseInfo() throws -> ListenerResponse {
        .json(.object(try info(database)))
    }

    /// What a database tells about itself; without counts of documents where some are hidden.
    func info(_ database: Database) throws -> JSONObject {
        let counts = try database.read { transaction in
            (
                try transaction.documentCount, try transaction.deletedDocumentCount,
                try transaction.lastSequence, try transaction.lastPurge
            )
        }
        let sizes = try database.sizes
        let size = JSONValue(UInt64(clamping: sizes.file))
        let used = JSONValue(UInt64(clamping: sizes.used))
        let sequences = site.sequences(of: database)
        return [
            "instance_start_time": .string(Self.instanceStartTime(database)),
            "db_name": .string(database.name),
            "purge_seq": sequences.value(counts.3),
            "update_seq": sequences.value(counts.2),
            // How long all documents and attachments are as text is not kept, and counting it would read them all.
            "sizes": ["file": size, "external": used, "active": used],
            "props": database.isPartitioned ? ["partitioned": true] : [:],
            "doc_del_count": hidesDocuments ? nil : JSONValue(UInt64(clamping: counts.1)),
            "doc_count": hidesDocuments ? nil : JSONValue(UInt64(clamping: counts.0)),
            "disk_format_version": 8,
            "compact_running": .bool(database.isCompacting),
            "cluster": ["q": 1, "n": 1, "w": 1, "r": 1],
            // What Couchbase Lite 1.x tells besides.
            "db_uuid": .string(database.publicUUID),
            "committed_update_seq": sequences.value(counts.2),
            "disk_size": size,
        ]
    }

    /// A number that stays as long as the database is the same life of itself: a replicator that sees
    /// another one starts over.
    static func instanceStartTime(_ database: Database) -> String {
        "\(Fingerprint.of(database.incarnation) >> 11)"
    }

    /// As long as CouchDB's names are at most.
    private static let longestDatabaseName = 238

    /// `PUT /{db}`
    func createDatabase() throws -> ListenerResponse {
        for name in ["q", "n"] {
            guard let text = query[name] else { continue }
            guard let number = Int(text, radix: 10), number > 0 else {
                throw HTTPFailure.badRequest("The `\(name)` value should be a positive integer.")
            }
        }
        let isPartitioned = try asksForPartitions
        guard databaseName.utf8.count <= Self.longestDatabaseName else {
            throw HTTPFailure(
                400, "database_name_too_long",
                "At least one path segment of `\(databaseName.prefix(250))` is too long.")
        }
        guard Manager.isValidDatabaseName(databaseName) else {
            throw HTTPFailure(
                400, "illegal_database_name",
                "Name: '\(databaseName.prefix(250))'. Only lowercase characters (a-z), digits (0-9), "
                    + "and any of the characters _, $, (, ), +, -, and / are allowed. Must begin "
                    + "with a letter.")
        }
        try site.create(databaseName, partitioned: isPartitioned)
        return .done(status: 201).with("Location", location())
    }

    /// Whether the database that is to be made is a partitioned one.
    private var asksForPartitions: Bool {
        get throws {
            switch query["partitioned"] {
            case nil, "false"?: return false
            case "true"?: break
            default: throw HTTPFailure.badRequest("Invalid `partitioned` parameter")
            }
            // Those of other databases as well, as CouchDB names them: "shop/_users".
            let last = databaseName.utf8.split(separator: UInt8(ascii: "/")).last
            guard systemDatabase == nil,
                last.flatMap({ SystemDatabase(rawValue: String(Substring($0))) }) == nil
            else {
                throw HTTPFailure.badRequest("Cannot partition a system database")
            }
            return true
        }
    }

    /// `DELETE /{db}`
    func deleteDatabase() throws -> ListenerResponse {
        guard query["rev"] == nil else {
            throw HTTPFailure.badRequest(
                "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a "
                    + "document instead?")
        }
        try site.delete(databaseName)
        return .done()
    }

    /// `POST /{db}/_ensure_full_commit`
    func ensureFullCommit() throws -> ListenerResponse {
        try checkContentType()
        let database = try database
        try database.sync()
        return .json(
            ["ok": true, "instance_start_time": .string(Self.instanceStartTime(database))],
            status: 201)
    }

    /// `POST /{db}/_compact`
    func compact() throws -> ListenerResponse {
        try checkContentType()
        let database = try database
        site.tasks.start("database_compaction", database.name) { report in
            _ = try database.compact { report($0.completed, $0.total) }
        }
        return .done(status: 202)
    }

    /// `POST /{db}/_view_cleanup`: deletes the indexes of views that no design document has. Views of the app are deleted by it.
    func cleanViews() throws -> ListenerResponse {
        try checkContentType()
        try database.designDocuments.removeUnusedIndexes()
        return .done(status: 202)
    }

    /// `POST /{db}/_compact/{ddoc}`: indexes need no compaction of their own.
    func compactViews() throws -> ListenerResponse {
        try checkContentType()
        guard try hasDesign(name(0)) else { throw HTTPFailure.missing }
        return .done(status: 202)
    }

    /// Whether there is a design document of a name, or a view of the app under it.
    func hasDesign(_ name: String) throws -> Bool {
        let database = try database
        let prefix = DesignItem.prefix(name)
        return try database.viewNames().contains { $0.hasBytePrefix(prefix) }
            || readableDocument("_design/\(name)") != nil
    }

    /// `POST /{db}/_purge`
    func purge() throws -> ListenerResponse {
        let wanted = try objectBody()
        let isPartitioned = try database.isPartitioned
        let (purged, number) = try database.write { transaction in
            var purged: JSONObject = [:]
            for (name, list) in wanted {
                let id = DocumentID(name)
                if isPartitioned { try checkID(id) }
                var revisions = try DocumentFormat.revisions(list, name)
                if revisions.contains("*") {
                    revisions =
                        try transaction.revisionTree(of: id)?.leaves.map(\.id) ?? []
                }
                let checked = try revisions.map(Self.checked)
                let gone =
                    try transaction.revisionTree(of: id) == nil
                    ? [] : transaction.purge(id, revisions: checked)
                purged[id.text] = .array(gone.map { .string($0.description) })
            }
            return (purged, try transaction.read { try $0.lastPurge })
        }
        return .json(
            ["purge_seq": try sequences.value(number), "purged": .object(purged)], status: 201)
    }

    /// `GET /{db}/_purged_infos`
    func purgedInfos() throws -> ListenerResponse {
        var infos: [JSONValue] = []
        try database.read { transaction in
            try transaction.forEachPurge { id, revisions in
                infos.append([
                    "id": .string(id.text),
                    "revs": .array(revisions.map { .string($0.description) }),
                ])
            }
        }
        return .json(["purged_infos": .array(infos)])
    }

    /// `GET /{db}/_purged_infos_limit`: what compaction leaves.
    func purgedInfosLimit() throws -> ListenerResponse {
        .json(JSONValue(UInt64(clamping: try database.purgeHistoryLimit)))
    }

    /// `PUT /{db}/_purged_infos_limit`
    func setPurgedInfosLimit() throws -> ListenerResponse {
        guard let limit = try valueBody().int64, limit > 0, limit <= 1_000_000_000 else {
            throw HTTPFailure.badRequest("`_purged_infos_limit` must be a positive integer.")
        }
        try database.setPurgeHistoryLimit(Int(clamping: limit))
        return .done()
    }

    /// `GET /{db}/_revs_limit`
    func revisionsLimit() throws -> ListenerResponse {
        .json(JSONValue(UInt64(clamping: try database.revisionLimit)))
    }

    /// `PUT /{db}/_revs_limit`
    func setRevisionsLimit() throws -> ListenerResponse {
        guard let limit = try valueBody().int64, limit > 0, limit <= 1_000_000 else {
            throw HTTPFailure.badRequest(
                "`_revs_limit` must be an integer from 1 to 1,000,000.")
        }
        try database.setRevisionLimit(Int(clamping: limit))
        return .done()
    }

    /// `GET /{db}/_security`
    func securityObject() throws -> ListenerResponse {
        let stored = try SecurityObject.stored(in: database)
        guard stored.isEmpty, site.configuration.settings.openDatabases == .admins else {
            return .json(.object(stored))
        }
        return .json(.object(SecurityObject.adminsOnly))
    }

    /// `PUT /{db}/_security`
    func setSecurity() throws -> ListenerResponse {
        guard systemDatabase != .users || site.configuration.settings.allowsUsersSecurity else {
            throw HTTPFailure.forbidden(
                "You can't edit the security object of the user database.")
        }
        let object = try objectBody()
        _ = try SecurityObject(object)
        try SecurityObject.store(object, in: database)
        return .done()
    }
}
