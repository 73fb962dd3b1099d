// SPDX-License-Identifier: Apache-2.0

internal import DivanSQLite
public import DivanStorage
internal import DivanSystem
internal import Synchronization

extension StorageEngineFactory {
    /// SQLite, the default engine; it is always there.
    public static let sqlite = StorageEngineFactory(
        identifier: SQLiteEngine.identifier, mainFile: "main.sqlite3", canEncrypt: true
    ) { directory, options in
        try SQLiteEngine(directory: directory, options: options)
    }
}

/// The storage engines that this process knows, by the names that manifests give them.
///
/// An engine other than SQLite is a product of its own, so that an app which does not want its library
/// does not link it. It becomes known when the app names it: in `DatabaseOptions.storageEngine`, as
/// `Manager.defaultStorageEngine`, or by `Manager.register(_:)`.
package enum KnownEngines {
    private struct Table {
        var engines = [StorageEngineFactory.sqlite.identifier: StorageEngineFactory.sqlite]
        var standard = StorageEngineFactory.sqlite
        var placeOfMemory: (@Sendable () throws -> String)?
    }

    private static let table = Mutex(Table())

    /// The engine of new databases whose options name none: SQLite. Tests of other engines set it.
    package static var standard: StorageEngineFactory {
        get { table.withLock { $0.standard } }
        set {
            remember(newValue)
            table.withLock { $0.standard = newValue }
        }
    }

    /// Has databases in memory be kept by the standard engine in a folder that `place` makes.
    ///
    /// For tests of engines other than SQLite, which alone keeps data without files.
    package static func setPlaceOfMemory(_ place: @escaping @Sendable () throws -> String) {
        table.withLock { $0.placeOfMemory = place }
    }

    /// The name of the engine that keeps databases in memory.
    static var nameInMemory: String {
        table.withLock { table in
            table.placeOfMemory == nil ? SQLiteEngine.identifier : table.standard.identifier
        }
    }

    /// Opens a database in memory.
    static func openInMemory(_ options: StorageOptions) throws -> any StorageEngine {
        let (engine, place) = table.withLock { ($0.standard, $0.placeOfMemory) }
        guard let place else { return try SQLiteEngine.inMemory(options: options) }
        return try engine.open(directory: place(), options: options)
    }

    /// Opens an empty engine in memory for work that no other thread sees, such as an index that is scanned.
    ///
    /// It is SQLite's also where databases in memory are kept by another engine.
    package static func scratch() throws -> any StorageEngine {
        try SQLiteEngine.inMemory(options: StorageOptions())
    }

    /// Makes an engine known.
    package static func remember(_ engine: StorageEngineFactory) {
        table.withLock { $0.engines[engine.identifier] = engine }
    }

    /// The engine of a database.
    ///
    /// - Throws: `DatabaseError` with code `.unsupportedStorageEngine` when it is not registered in
    ///   this process.
    package static func engine(named name: String, keeping path: String) throws
        -> StorageEngineFactory
    {
        guard let engine = table.withLock({ $0.engines[name] }) else {
            throw DatabaseError.unknownEngine(name, path)
        }
        return engine
    }

    /// The engine whose data lie in a directory, by its main file; SQLite when there is none.
    package static func engine(ofDataAt dataPath: String) -> StorageEngineFactory {
        let engines = table.withLock { Array($0.engines.values) }
        return engines.first { Files.exists("\(dataPath)/\($0.mainFile)") } ?? .sqlite
    }
}
