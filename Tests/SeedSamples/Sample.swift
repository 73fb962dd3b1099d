// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// A manager in a folder of its own, as an app would have at its first launch.
final class Sample {
    let manager: Manager
    let database: Database

    init() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "divan-samples-\(UUID().uuidString)")
        manager = try Manager(directory: folder)
        database = try manager.database(named: "app")
    }

    deinit {
        manager.close()
        try? FileManager.default.removeItem(at: manager.directory)
    }
}

/// Runs something that should fail; returns the code of its `DatabaseError`, nil when it succeeds.
func code<T>(_ body: () throws -> T) -> DatabaseError.Code? {
    do { _ = try body() } catch let error as DatabaseError { return error.code } catch {
        Issue.record("Not a DatabaseError: \(error)")
    }
    return nil
}

/// Waits until a condition holds, for ten minutes at most.
func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async rethrows {
    let deadline = ContinuousClock.now + .seconds(600)
    while ContinuousClock.now < deadline {
        if try condition() { return }
        try? await Task.sleep(for: .milliseconds(2))
    }
    Issue.record("It did not happen.")
}
