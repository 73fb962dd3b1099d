// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
internal import DivanModel

/// One purge of all documents whose time has come.
///
/// The rows of `expirations` are in the order of time, so it reads what is due and nothing else. Each
/// batch is one transaction, between which other threads read and write; a process that dies in between
/// leaves whole documents only, and the rest for the next pass. Two processes that begin at the same
/// moment take turns, and the second one finds nothing left.
///
/// Damage does not hold up the other documents. Rows that cannot be read are passed over. When a batch meets a
/// damaged document, the pass goes on one document at a time, and leaves those that cannot be purged. It
/// reports the first damage at its end.
struct ExpirationPass {
    /// Enough to make a transaction worth its commit, few enough that other writers wait for
    /// hundredths of a second.
    static let batchSize = 2_000

    let core: DatabaseCore
    let now: ExpirationTime
    let progress: ProgressHandler?

    /// Purges what is due; returns how many documents were purged.
    func run() throws -> Int {
        try CancellationFlag.check()
        var purged = 0
        var position: ExpirationKey?
        var limit = Self.batchSize
        var damage: DatabaseError?
        while try isDue(after: position, &damage) {
            try progress.report(WorkProgress(phase: "purging", completed: purged, total: nil))
            do {
                let (after, size) = (position, limit)
                let batch = try core.write { context in
                    try context.operation {
                        try context.purgeExpired(until: now, after: after, limit: size) {
                            note($0, &damage)
                        }
                    }
                }
                purged += batch.purged
                guard let last = batch.last else { break }
                position = last
            } catch let error as DatabaseError where error.code == .corrupted {
                guard limit == 1 else {
                    limit = 1
                    continue
                }
                damage = damage ?? error
                position = try core.read { try $0.nextExpiration(after: position) }
            }
        }
        if purged > 0 {
            Log.expiration.info(
                "Purged \(purged) expired documents of the database '\(core.name)'.")
        }
        if let damage { throw damage }
        return purged
    }

    /// Looks before it takes the writer's turn, which is not needed when another process was faster.
    private func isDue(after position: ExpirationKey?, _ damage: inout DatabaseError?) throws
        -> Bool
    {
        let next = try core.read { snapshot in
            try snapshot.nextExpiration(after: position) { note($0, &damage) }
        }
        return next.map { $0.time <= now } ?? false
    }

    /// Keeps the first damage, and logs it: no read fails with that of a row that is passed over.
    private func note(_ row: DatabaseError, _ damage: inout DatabaseError?) {
        guard damage == nil else { return }
        core.log(row)
        damage = row
    }
}
