// SPDX-License-Identifier: Apache-2.0

import DivanDatabase
import DivanLMDB
import Foundation

/// The storage engine that the tests of databases run on.
///
/// | variable | meaning |
/// |---|---|
/// | `DIVAN_TEST_ENGINE=lmdb` | LMDB keeps every database for which the test names no engine |
///
/// It is chosen before the program's `main`, so no test can be too early and none can forget it.
/// Databases in memory then lie in files, in memory where the system has such a place, since only
/// SQLite keeps data without files.
public enum TestEngine {
    /// The name of the engine.
    public static let name = environment("DIVAN_TEST_ENGINE") ?? "sqlite"

    /// Whether databases are kept by SQLite, for tests that look into its files.
    public static var isSQLite: Bool { name == "sqlite" }

    /// The engine's file in the directory of a generation, for tests that damage it.
    public static var mainFile: String { isSQLite ? "main.sqlite3" : "main.mdb" }

    fileprivate static func choose() {
        Manager.register(.lmdb)
        switch name {
        case "sqlite": break
        case "lmdb":
            KnownEngines.standard = .lmdb
            KnownEngines.setPlaceOfMemory { try scratchFolder() }
        default: preconditionFailure("DIVAN_TEST_ENGINE must be sqlite or lmdb, not \(name).")
        }
    }

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

/// Called by the system before `main`, in each program that is linked with this module.
#if objectFormat(MachO)
@section("__DATA,__mod_init_func")
#elseif objectFormat(ELF)
@section(".init_array")
#endif
@used
private let chooseEngineAtStart: @convention(c) () -> Void = { TestEngine.choose() }
