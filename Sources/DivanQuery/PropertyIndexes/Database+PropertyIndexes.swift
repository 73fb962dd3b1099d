// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanIndex
internal import DivanJSON
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
    /// - Throws: `DatabaseError` with code `.invalidQuery` when a path makes no sense, or the index is
    ///   partitioned and the database is not; or as `write(_:)`.
    @discardableResult
    public func createIndex(_ index: PropertyIndex) throws -> Bool {
        try checkWritable()
        let definition = try PropertyIndexMap(index).definition
        guard !index.isPartitioned || isPartitioned else {
            throw DatabaseError.index(
                index.name, "is to be partitioned, and the database '\(name)' is not")
        }
        return try core.write { context in
            let (_, snapshot) = try context.transaction()
            let stored = try snapshot.indexRecord(definition.name)
            if let stored, stored.version.utf8.elementsEqual(definition.version.utf8) {
                return false
            }
            try context.dropPropertyIndex(index.name)
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
        return try core.write { try $0.dropPropertyIndex(name) }
    }

    /// Brings all indexes on properties up to date, in one pass over what changed.
    ///
    /// Queries do so by themselves for the indexes that they may use. An index without a collation is brought up
    /// to date in the orders that queries have used; before the first query, in that of the query builder. It works
    /// in pieces, between which other threads read and write.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work, and what was done stays done.
    /// - Throws: As `write(_:)`, and what `progress` throws.
    public func updateIndexes(progress: ProgressHandler? = nil) throws {
        try checkWritable()
        try core.updatePropertyIndexes(try core.read { try $0.keptPropertyIndexes() }, progress)
    }
}

extension Snapshot {
    /// The indexes on properties that are declared, by name, each in its first order.
    func propertyIndexes() throws -> [PropertyIndexMap] {
        let notes = indexNotes
        if let declared = notes.declared { return declared }
        let known = core.knownIndexes
        let records = try indexRecords(of: .property) { known.record($0) }
        let declared = try records.filter { !$0.name.isOfLaterOrder }.map { name, found in
            known.note(found, of: name)
            return try DatabaseCore.decoding(nil) {
                try known.map(name, definedBy: found.record.version)
            }
        }
        notes.declared = declared
        return declared
    }

    /// The record of an index, which is seldom decoded.
    func knownRecord(_ name: IndexName) throws -> IndexRecord? {
        let notes = indexNotes
        if let record = notes.records[name] { return record }
        guard let known = try indexRecord(name, unless: core.knownIndexes.record(name)) else {
            return nil
        }
        core.knownIndexes.note(known, of: name)
        notes.records[name] = known.record
        return known.record
    }

    /// The indexes on properties in the orders that queries have used, or else in the first one.
    func keptPropertyIndexes() throws -> [PropertyIndexMap] {
        try propertyIndexes().flatMap { map in
            let used = try map.inAllOrders.filter { try isBuilt($0) }
            return used.isEmpty ? [map] : used
        }
    }

    /// Whether an index has rows in its order.
    func isBuilt(_ map: PropertyIndexMap) throws -> Bool {
        guard let record = try knownRecord(map.indexName) else { return false }
        return record.isMade(by: map.definition) && record.lastSequence > 0
    }
}

extension IndexName {
    /// Whether it is that of rows in an order that is not the first one of their index.
    var isOfLaterOrder: Bool { kind == .property && name.utf8.contains(0) }

    /// The name that the app gave.
    var declaredName: String {
        guard isOfLaterOrder else { return name }
        return String(Substring(name.utf8.prefix { $0 != 0 }))
    }
}

extension WriteContext {
    /// Removes an index on properties with its rows in all orders; false when there is none.
    @discardableResult
    func dropPropertyIndex(_ name: String) throws -> Bool {
        // Read from the outside, so that it also finds what an older declaration of the name left.
        var isFound = try dropIndex(IndexName(.property, name))
        for order in Collation.allCases {
            let later = name + PropertyIndex.orderMark + order.rawValue
            if try dropIndex(IndexName(.property, later)) { isFound = true }
        }
        return isFound
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
            let (_, snapshot) = try context.transaction()
            for definition in definitions
            where try definition.isDeclared?(snapshot) ?? true {
                _ = try context.makeIndex(
                    definition.name, signature: definition.signature, version: definition.version)
            }
        }
        _ = try IndexPass(core: self, definitions: definitions, progress: progress).run()
    }
}
