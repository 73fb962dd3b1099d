// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanStorageConformance
import Foundation

/// A directory that goes with the object.
final class ScratchDirectory: Sendable {
    let path: String

    init() throws {
        // In memory where there is such a place: the suites sync thousands of times.
        let memory = "/dev/shm/"
        let isThere = FileManager.default.isWritableFile(atPath: memory)
        path = (isThere ? memory : NSTemporaryDirectory()) + "divan-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var file: String { path + "/main.sqlite3" }

    func makeDirectory() throws -> String {
        let directory = path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        return directory
    }

    /// Opens an engine in the directory itself.
    func open(_ change: (inout StorageOptions) -> Void = { _ in }) throws -> SQLiteEngine {
        var options = StorageOptions()
        change(&options)
        return try SQLiteEngine(directory: path, options: options)
    }
}

extension StorageError.Code {
    /// The code of the storage error that `body` throws.
    static func thrown(by body: () throws -> Void) -> StorageError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StorageError)?.code
        }
    }
}

/// Puts `count` rows of 100 bytes into a store.
func fill(_ engine: SQLiteEngine, _ count: Int) throws -> Store {
    let store = engine.store(StoreName("rows", .integer))
    try engine.write { writer in
        for number in 0..<count {
            let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 100)
            try writer.set(value.span, forKey: Int64(number), in: store)
        }
    }
    return store
}
