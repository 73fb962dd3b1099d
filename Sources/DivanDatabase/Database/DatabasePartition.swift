// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel

/// A part of a partitioned database: the documents whose IDs begin with one name and a colon.
///
/// ```swift
/// let readings = try manager.database(named: "readings", partitioned: true)
/// let sensor = readings.partition("sensor-1")
/// try readings.save(MutableDocument(["celsius": 21.5], id: sensor.id("2026-11-27")))
/// for row in try sensor.allDocuments() { print(row.id) }          // "sensor-1:2026-11-27"
/// let warm = try sensor.find(selector: ["celsius": ["$gt": 20]]).run()
/// ```
///
/// A partition is no more than a name: making one reads nothing and stores nothing, and it comes into being with
/// its first document. It answers questions by reading what lies in it alone, however large the database is:
/// documents by a range of their IDs, and views and indexes that are made for it by a range of their rows
/// (`DatabaseView.isPartitioned`, `PropertyIndex.isPartitioned`).
///
/// A name is one or more characters, of which none is a colon and the first is no underscore. An operation checks
/// it, as it checks the ID of a document: so `database.partition("sensor-\(number)")` needs no `try`.
///
/// Design and local documents are in no partition.
public struct DatabasePartition: Sendable {
    /// The database.
    public let database: Database
    /// The name of the partition.
    public let name: String

    /// The ID of a document of the partition; one that every operation refuses, if the partition's name breaks the rules.
    ///
    /// - Parameter rest: What stands behind the colon.
    /// - Returns: The ID.
    public func id(_ rest: String) -> DocumentID { DocumentID(partition: name, rest) }

    /// Whether an ID is that of a document of the partition, whether or not there is such a document.
    public func owns(_ id: DocumentID) -> Bool { name.hasSameBytes(as: id.partition) }

    /// Throws unless the database has such a partition.
    ///
    /// - Returns: The partition.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the database is not partitioned, `.invalidID` for a
    ///   name that breaks the rules, or `.databaseClosed`.
    @discardableResult
    package func checked() throws -> DatabasePartition {
        try database.checkOpen()
        try Self.check(name, in: database.core)
        return self
    }

    /// Throws unless a database has a partition of a name, as ``checked()``.
    package static func check(_ name: String, in core: DatabaseCore) throws {
        guard core.isPartitioned else {
            throw DatabaseError(
                .invalidQuery,
                "The database '\(core.name)' is not partitioned; ask the database itself.")
        }
        do throws(IDFailure) { try DocumentID.validate(partition: name) } catch {
            throw DatabaseError.invalidID(DocumentID("\(name):"), error)
        }
    }
}

extension Database {
    /// Whether the database is partitioned, which was decided when it was made; see ``DatabasePartition``.
    public var isPartitioned: Bool { core.isPartitioned }

    /// Names a partition of the database, if this is partitioned; nothing is read.
    ///
    /// - Parameter name: The name; what is done with the partition checks it.
    /// - Returns: The partition.
    public func partition(_ name: String) -> DatabasePartition {
        DatabasePartition(database: self, name: name)
    }
}

extension DatabasePartition: Equatable {
    /// Whether both are the same partition of the same database object.
    public static func == (left: DatabasePartition, right: DatabasePartition) -> Bool {
        left.database === right.database && left.name.hasSameBytes(as: right.name)
    }
}

extension DatabasePartition: CustomStringConvertible {
    /// The names of database and partition, for logs.
    public var description: String { "DatabasePartition(\(database.name), \(name.prefix(60)))" }
}
