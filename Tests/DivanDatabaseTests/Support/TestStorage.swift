// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanStorage

/// Storage by itself, of the engine that the tests run on, for databases whose engine is a faulty one.
enum TestStorage {
    /// Makes some that is empty, and in memory as far as its engine can.
    static func make() throws -> any StorageEngine {
        var options = StorageOptions()
        options.createsIfMissing = true
        return try KnownEngines.openInMemory(options)
    }
}
