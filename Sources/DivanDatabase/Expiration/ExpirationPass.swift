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
/// A damaged document does not hold up the others: when a batch meets one, the pass goes on one
/// document at a time, leaves those that cannot be purged, and reports the first of them at its end.
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
        while try isDue(after: position) {
            try progress.report(WorkProgress(phase: "purging", completed: purged, total: nil))
            do {
                let (after, size) = (position, limit)
                let batch = try core.write { context in
                    try context.operation {
                        try context.purgeExpired(until: now, after: after, limit: size)
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
    private func isDue(after position: ExpirationKey?) throws -> Bool {
        guard let next = try core.read({ try $0.nextExpiration(after: position) }) else {
            return false
        }
        return next.time <= now
    }
}
