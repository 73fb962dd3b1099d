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
