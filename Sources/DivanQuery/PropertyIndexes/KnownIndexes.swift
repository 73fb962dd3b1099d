// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import Synchronization

/// The indexes on properties as queries have found them declared, so that the next query need not parse their
/// definitions again.
///
/// What is kept counts only for the very bytes that it was made from: a snapshot always reads these.
///
/// State: `kept`, guarded by its mutex. An app declares few indexes; beyond `mostIndexes` all are forgotten.
final class KnownIndexes: ModuleState {
    private static let mostIndexes = 1_000

    private struct Kept {
        var records: [IndexName: KnownIndexRecord] = [:]
        var maps: [IndexName: (version: String, map: PropertyIndexMap)] = [:]
    }

    private let kept = Mutex(Kept())

    /// The record that was read last.
    func record(_ name: IndexName) -> KnownIndexRecord? { kept.withLock { $0.records[name] } }

    func note(_ record: KnownIndexRecord, of name: IndexName) {
        kept.withLock { kept in
            if kept.records.count >= Self.mostIndexes, kept.records[name] == nil { kept = Kept() }
            kept.records[name] = record
        }
    }

    /// The index that a stored definition declares.
    func map(_ name: IndexName, definedBy version: String) throws -> PropertyIndexMap {
        if let (known, map) = kept.withLock({ $0.maps[name] }), known.hasSameBytes(as: version) {
            return map
        }
        let map = try PropertyIndexMap(
            PropertyIndex(named: name.name, definitionText: version))
        kept.withLock { $0.maps[name] = (version, map) }
        return map
    }

    func close() { kept.withLock { $0 = Kept() } }
}

extension DatabaseCore {
    var knownIndexes: KnownIndexes { states.state(of: KnownIndexes.self) }
}
