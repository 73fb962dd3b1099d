// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// One raw row of a database, for developers of Divan.
public struct InspectedRow: Sendable {
    /// The store it lies in.
    public var store: String
    /// Its key: a sequence, an ID, or hexadecimal digits.
    public var key: String
    /// What it says, without document content.
    public var summary: String
    /// The bytes of its value.
    public var byteCount: Int
}

extension Database {
    /// The names of the stores that `inspect` can list.
    public static var storeNames: [String] { Stores.names.map(\.name) }

    /// Calls `body` for each raw row of a store, or of all stores.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io`, `.corrupted`, or `.databaseBusy`
    ///   when others write too much meanwhile.
    public func inspect(store name: String? = nil, _ body: (InspectedRow) throws -> Void) throws {
        try checkOpen()
        let log = LogGuard(core)
        try core.read { snapshot in
            for store in Stores.names where name == nil || store.name.hasSameBytes(as: name) {
                try inspect(store, snapshot, log, body)
            }
        }
    }

    private func inspect(
        _ store: StoreName, _ snapshot: Snapshot, _ log: LogGuard,
        _ body: (InspectedRow) throws -> Void
    ) throws {
        let cursor = try snapshot.reader.cursor(in: core.engine.store(store))
        defer { cursor.close() }
        var found = try cursor.seekToFirst()
        var done = 0
        while found {
            if done % 1_000 == 0 {
                try CancellationFlag.check()
                try log.check()
            }
            done += 1
            var row: InspectedRow?
            try cursor.withRow { key, value in
                row = InspectedRow(
                    store: store.name,
                    key: store.kind == .integer
                        ? String(cursor.integerKey) : Inspection.key(key, in: store.name),
                    summary: Inspection.summary(value, in: store.name), byteCount: value.count)
            }
            if let row { try body(row) }
            found = try cursor.next()
        }
    }
}

/// The text in which rows are shown.
enum Inspection {
    static func key(_ key: Span<UInt8>, in store: String) -> String {
        if store == "largeBodies" { return KeyEncoding.hexadecimal(key) }
        if store == "expirations" {
            guard let row = try? ExpirationKey(key) else { return KeyEncoding.hexadecimal(key) }
            return "\(text(of: row.time)) \(row.documentID)"
        }
        if store == "olderRevisions" {
            guard let row = try? OlderRevisionsKey(key) else { return KeyEncoding.hexadecimal(key) }
            return "\(row.documentID) \(row.number)"
        }
        if store == "attachmentReferences" {
            guard let row = try? AttachmentReference.decode(key) else {
                return KeyEncoding.hexadecimal(key)
            }
            return "\(row.key.fileName) \(row.sequence)"
        }
        return String(utf8: key)
    }

    static func summary(_ value: Span<UInt8>, in store: String) -> String {
        do {
            switch store {
            case "revisions":
                let row = try RevisionRow(value)
                var text = "\(row.documentID) \(row.revisionID)"
                if row.flags.contains(.tombstone) { text += " tombstone" }
                if row.flags.contains(.attachments) { text += " attachments" }
                if row.flags.contains(.consultDocument) { text += " consult" }
                if row.flags.contains(.largeBody) { text += " large \(row.largeLength)" }
                return text + " body \(row.body.count)"
            case "documents":
                let record = try DocumentRecord(value)
                return "update \(record.updateSequence) "
                    + (record.expiration.map { "expires \(text(of: $0)) " } ?? "")
                    + record.tree.nodes.map { node in
                        "\(node.id)\(node.isTombstone ? "!" : "")@\(node.sequence ?? 0)"
                    }.joined(separator: " ")
            case "olderRevisions":
                return try RevisionBlock(number: 0, value).tree.nodes.map(\.id.description)
                    .joined(separator: " ")
            case "conflicts":
                return value.isEmpty ? "in conflict" : "malformed"
            case "superseded":
                return value.count == 1 && value[0] == 0 ? "dead" : "shadowed"
            case "purges":
                let record = try PurgeRecord(value)
                return "\(record.documentID) \(record.revisions.map(\.description))"
            case "expirations":
                return value.isEmpty ? "" : "malformed"
            case "attachmentReferences":
                return value.count == 1 ? "absent when referred to" : "stored"
            case "local":
                return "revision \(try LocalRecord(value).revision)"
            default:
                return KeyEncoding.hexadecimal(value)
            }
        } catch { return "malformed" }
    }

    private static func text(of time: ExpirationTime) -> String {
        ISO8601.format(millisecondsSince1970: Int64(time.milliseconds))
    }
}
