// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging

// What administrators see of a Divan beyond CouchDB's API; `GET /` names each among its features.
extension Call {
    /// `GET /{db}/_divan`
    func databaseDetails() throws -> ListenerResponse {
        let database = try database
        return .json([
            "engine": .string(database.storageEngineName),
            "encrypted": .bool(database.isEncrypted),
            "partitioned": .bool(database.isPartitioned),
            "documents": JSONValue(UInt64(clamping: try database.documentCount)),
            "conflicts": JSONValue(try database.conflictCount),
            "disk_size": JSONValue(UInt64(clamping: try database.diskSize)),
            "revision_depth": JSONValue(try database.revisionBodyLimit),
            "revision_limit": JSONValue(try database.revisionLimit),
            "public_uuid": .string(database.publicUUID),
        ])
    }

    /// `POST /{db}/_divan/verify`
    func startVerification() throws -> ListenerResponse {
        site.verifications.start(try database, tasks: site.tasks)
        return .done(status: 202)
    }

    /// `GET /{db}/_divan/verify`
    func verification() throws -> ListenerResponse {
        .json(.object(site.verifications.report(databaseName)))
    }

    /// `DELETE /{db}/_divan/verify`
    func cancelVerification() throws -> ListenerResponse {
        site.verifications.cancel(databaseName)
        return .done(status: 202)
    }

    /// `GET /_divan/log`
    func logTail() throws -> ListenerResponse {
        guard let tail = site.logTail else { throw HTTPFailure.noRoute }
        guard let level = LogLevel(named: query["level"] ?? "debug"), level != .none else {
            throw HTTPFailure.badRequest(
                "`level` must be one of error, warning, info, verbose and debug.")
        }
        let (entries, last) = tail.entries(
            after: try query.count("since") ?? 0, level: level,
            limit: min(try query.count("limit") ?? 500, 2_000))
        return .json([
            "entries": .array(
                entries.map { numbered in
                    [
                        "seq": JSONValue(numbered.number), "time": .string(numbered.entry.time),
                        "level": .string(numbered.entry.level.name),
                        "domain": .string(numbered.entry.domain.name),
                        "message": .string(numbered.entry.message),
                    ]
                }),
            "last_seq": JSONValue(last),
        ])
    }
}
