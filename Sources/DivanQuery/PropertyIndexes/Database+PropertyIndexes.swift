// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanIndex
internal import DivanLogging

extension Database {
    /// Declares an index on properties; the database keeps it from then on.
    ///
    /// ```swift
    /// try database.createIndex(PropertyIndex(on: "type", "createdAt"))
    /// ```
    ///
    /// It is built by the first query that may use it, or by ``updateIndexes(progress:)``, and kept up
    /// to date by the next ones. Declaring an index that is there changes nothing; another one of the
    /// same name takes its place.
    ///
    /// - Parameter index: What to index.
    /// - Returns: Whether anything changed.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when a path makes no sense, or as
    ///   `write(_:)`.
    @discardableResult
    public func createIndex(_ index: PropertyIndex) throws -> Bool {
        try checkWritable()
        let definition = try PropertyIndexMap(index).definition
        return try core.write { context in
            let (_, snapshot) = try context.transaction()
            let stored = try snapshot.indexRecord(definition.name)
            if let stored, stored.version.utf8.elementsEqual(definition.version.utf8) {
                return false
            }
            _ = try context.makeIndex(
                definition.name, signature: definition.signature, version: definition.version)
            return true
        }
    }

    /// The indexes on properties, by name.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func indexes() throws -> [PropertyIndex] {
        try checkOpen()
        return try core.read { try $0.propertyIndexes().map(\.index) }
    }

    /// Removes an index on properties with its rows.
    ///
    /// - Parameter name: Its name.
    /// - Returns: Whether there was one.
    /// - Throws: As `write(_:)`.
    @discardableResult
    public func deleteIndex(named name: String) throws -> Bool {
        try checkWritable()
        return try core.write { try $0.dropIndex(IndexName(.property, name)) }
    }

    /// Brings all indexes on properties up to date, in one pass over what changed.
    ///
    /// Queries do so by themselves for the indexes that they may use. It works in pieces, between
    /// which other threads read and write.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work, and what was done stays done.
    /// - Throws: As `write(_:)`, and what `progress` throws.
    public func updateIndexes(progress: ProgressHandler? = nil) throws {
        try checkWritable()
        try core.updatePropertyIndexes(try core.read { try $0.propertyIndexes() }, progress)
    }
}

extension Snapshot {
    /// The indexes on properties that are declared, by name.
    func propertyIndexes() throws -> [PropertyIndexMap] {
        try indexNames().filter { $0.kind == .property }.compactMap { name in
            guard let record = try indexRecord(name) else { return nil }
            return try core.decoding(nil) {
                try PropertyIndexMap(
                    PropertyIndex(named: name.name, definitionText: record.version))
            }
        }
    }
}

extension DatabaseCore {
    /// Brings indexes up to date; a damaged one is built anew.
    func updatePropertyIndexes(
        _ indexes: [PropertyIndexMap], _ progress: ProgressHandler? = nil
    ) throws {
        guard !indexes.isEmpty else { return }
        let definitions = indexes.map(\.definition)
        do {
            _ = try IndexPass(core: self, definitions: definitions, progress: progress).run()
        } catch let error as DatabaseError where error.underlying is IndexCorruption {
            try rebuildPropertyIndexes(indexes, progress)
        }
    }

    /// Empties indexes, whose definitions stay, and builds them from the documents.
    func rebuildPropertyIndexes(
        _ indexes: [PropertyIndexMap], _ progress: ProgressHandler? = nil
    ) throws {
        Log.database.warning(
            "Building \(indexes.count) property indexes of the database '\(name)' anew, since one is damaged."
        )
        let definitions = indexes.map(\.definition)
        try write { context in
            for definition in definitions {
                _ = try context.makeIndex(
                    definition.name, signature: definition.signature, version: definition.version)
            }
        }
        _ = try IndexPass(core: self, definitions: definitions, progress: progress).run()
    }
}
