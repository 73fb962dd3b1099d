// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// Partitions: what lies below `_partition`, and the parameter `partition` of other routes.
extension Call {
    /// `/{db}/_partition`, which names none.
    func namelessPartition() throws -> ListenerResponse {
        throw HTTPFailure.badRequest("invalid_partition_req")
    }

    /// `GET /{db}/_partition/{partition}`
    ///
    /// Where documents are hidden, nothing is told of their number and size.
    func partitionInfo() throws -> ListenerResponse {
        let name = resource.partition ?? ""
        try Self.check(partition: name)
        guard ["GET", "HEAD"].contains(request.head.method) else {
            throw HTTPFailure.notAllowed(["GET", "HEAD"])
        }
        let database = try partitionedDatabase
        // Every document of the partition is read, so a client that asks again is told of the tag where it can be.
        return try tagged(listTag()) {
            var counts: [JSONValue] = [.null, .null, .null, .null]
            if !hidesDocuments {
                let info = try database.partition(name).info()
                counts = [
                    info.documentCount, info.deletedDocumentCount, info.storedBytes,
                    info.contentBytes,
                ].map { JSONValue($0) }
            }
            return .json([
                "db_name": .string(database.name), "partition": .string(name),
                "doc_count": counts[0], "doc_del_count": counts[1],
                "sizes": ["active": counts[2], "external": counts[3]],
            ])
        }
    }

    private var partitionedDatabase: Database {
        get throws {
            let database = try database
            guard database.isPartitioned else {
                throw HTTPFailure.badRequest("database is not partitioned")
            }
            return database
        }
    }

    /// The partition that a request asks for, by its path or by the parameter; nil for the whole database.
    ///
    /// - Parameter given: The parameters of the query, and of the body where these count as well.
    /// - Returns: The name, which is valid; the database has partitions.
    /// - Throws: `HTTPFailure` 400 for a name that no partition has, for two different ones, and where the database has
    ///   no partitions.
    func partition(_ given: QueryParameters) throws -> String? {
        let parameter = given.text("partition")
        guard let name = resource.partition else {
            guard let parameter else { return nil }
            guard try database.isPartitioned else {
                throw HTTPFailure.queryParse("`partition` parameter is not supported on this db")
            }
            guard !parameter.isEmpty else {
                throw HTTPFailure.queryParse("Invalid value for `partition`.")
            }
            try Self.check(partition: parameter)
            return parameter
        }
        _ = try partitionedDatabase
        try Self.check(partition: name)
        guard parameter == nil || name.hasSameBytes(as: parameter) else {
            throw HTTPFailure.badRequest("Conflicting value for `partition` in query string")
        }
        return name
    }

    /// Refuses what is no name of a partition.
    static func check(partition name: String) throws {
        do { try DocumentID.validate(partition: name) } catch { throw HTTPFailure.invalidID(error) }
    }

    /// Refuses an edit that makes a document longer whose partition is full, where the configuration limits partitions. What replicators
    /// bring passes, as in CouchDB.
    ///
    /// - Throws: `HTTPFailure` 403 (`partition_overflow`).
    func checkPartition(_ id: DocumentID, _ change: ReceivedDocument) throws {
        guard let limit = site.configuration.settings.largestPartition, let name = id.partition,
            try database.isPartitioned
        else { return }
        let former = try database.document(withID: id)?.body.byteCount ?? 0
        let size = change.isDeleted ? 0 : change.body.byteCount
        let partition = try database.partition(name)
        guard try site.partitions.take(size - former, into: partition, limit: limit) else {
            throw HTTPFailure(
                403, "partition_overflow",
                "Partition limit exceeded due to update on '\(id.text)'"
            ).ofDocument
        }
    }

    /// How many rows a list may have at most: as many as are asked for, or else as the configuration allows.
    ///
    /// - Parameters:
    ///   - wanted: What the client asks for.
    ///   - inPartition: Whether the list is of one partition.
    /// - Returns: The limit; nil for none.
    /// - Throws: `HTTPFailure` 400 for more than is allowed.
    func limit(_ wanted: Int?, inPartition: Bool) throws -> Int? {
        let settings = site.configuration.settings
        guard let most = inPartition ? settings.mostRowsOfPartition : settings.mostRows else {
            return wanted
        }
        guard wanted ?? 0 <= most else {
            throw HTTPFailure.queryParse("Limit is too large, must not exceed \(most)")
        }
        return wanted ?? most
    }

    /// Refuses to ask a view in another way than its design document is made for.
    static func check(_ view: DatabaseView, partition: String?) throws {
        guard view.isPartitioned != (partition != nil) else { return }
        throw HTTPFailure.queryParse(
            partition == nil
                ? "`partition` parameter is mandatory for queries to this view."
                : "`partition` parameter is not supported in this design doc")
    }
}
