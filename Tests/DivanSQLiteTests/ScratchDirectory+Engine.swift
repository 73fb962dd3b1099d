// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport

extension ScratchDirectory {
    var file: String { path + "/main.sqlite3" }

    /// Opens an engine in the directory itself.
    func open(_ change: (inout StorageOptions) -> Void = { _ in }) throws -> SQLiteEngine {
        var options = StorageOptions()
        change(&options)
        return try SQLiteEngine(directory: path, options: options)
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
