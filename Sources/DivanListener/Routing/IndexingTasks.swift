// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanQuery

// What brings indexes up to date, as clients are told of it.
extension Site {
    /// The entries of `_active_tasks`, one for each design document of each database: of several clients that wait for the
    /// same indexes, the one that is furthest.
    var indexingTasks: [JSONValue] {
        let databases = manager.openedDatabases.sorted {
            $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
        }
        return databases.flatMap { database in
            var furthest: NameMap<RunningIndexing> = [:]
            for running in database.runningIndexing {
                for design in running.designs {
                    guard running.completed >= furthest[design]?.completed ?? 0 else { continue }
                    furthest[design] = running
                }
            }
            return furthest.sortedByName.map { task($0.value, $0.key, of: database) }
        }
    }

    private func task(_ running: RunningIndexing, _ design: String, of database: Database)
        -> JSONValue
    {
        let (done, total) = (running.completed, running.total)
        return [
            "node": node, "pid": .string("<0.\(running.number).0>"),
            "type": "indexer", "database": .string(database.name),
            // An index of the app has no design document.
            "design_document": design.isEmpty ? nil : .string("_design/" + design),
            "changes_done": JSONValue(done), "total_changes": JSONValue(total),
            "progress": .integer(
                Int64(clamping: total > 0 ? done.multipliedSaturated(by: 100) / total : 0)),
            "started_on": .integer(running.started), "updated_on": .integer(running.updated),
        ]
    }
}

extension RunningIndexing {
    /// The design documents whose indexes it brings up to date, without `_design/`; an empty name stands for the app's.
    var designs: NameSet { NameSet(names.map { DesignIndexName.design(of: $0) ?? "" }) }
}

extension Database {
    /// How many clients wait for indexes of a design document.
    func waitingClients(of design: String) -> Int {
        runningIndexing.count { $0.designs.contains(design) }
    }
}
