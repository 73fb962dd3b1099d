// SPDX-License-Identifier: Apache-2.0

import DivanDatabase
import DivanLMDB
import Foundation

/// The storage engine that the tests of databases run on.
///
/// | variable | meaning |
/// |---|---|
/// | `DIVAN_TEST_ENGINE=lmdb` | LMDB keeps every database whose engine nobody names |
///
/// Whatever makes databases for tests calls `use()` first. Databases in memory then lie in files, in
/// memory where the system has such a place, since only SQLite keeps data without files.
public enum TestEngine {
    /// The name of the engine.
    public static let name = environment("DIVAN_TEST_ENGINE") ?? "sqlite"

    /// Whether databases are kept by SQLite, for tests that look into its files.
    public static var isSQLite: Bool { name == "sqlite" }

    /// Sees to it that databases are kept by the engine.
    public static func use() { _ = choice }

    private static let choice: Void = {
        Manager.register(.lmdb)
        switch name {
        case "sqlite": break
        case "lmdb":
            KnownEngines.standard = .lmdb
            KnownEngines.setPlaceOfMemory { try scratchFolder() }
        default: preconditionFailure("DIVAN_TEST_ENGINE must be sqlite or lmdb, not \(name).")
        }
    }()

    /// A new folder of a folder that goes with the process.
    private static func scratchFolder() throws -> String {
        let folder = root + "/" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    private static let root: String = {
        let memory = "/dev/shm"
        let isThere = FileManager.default.isWritableFile(atPath: memory)
        let folder =
            (isThere ? memory : NSTemporaryDirectory()) + "/divan-memory-\(UUID().uuidString)"
        atexit { try? FileManager.default.removeItem(atPath: TestEngine.root) }
        return folder
    }()
}
