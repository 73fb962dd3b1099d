// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// How large partitions are, for the limit that the configuration may set (`couchdb/max_partition_size`).
///
/// What a partition holds is found by reading all of it, which is too slow for each edit. So it is read once, and what edits
/// of this listener add is counted from then on.
///
/// ## Invariants
///
/// 1. An edit is refused only by a size that was read after the last change, or within the last second.
/// 2. Reading costs as much as the changes do that it follows: a partition is read anew when as many changes have come by other ways
///    (replications, the app) as it has documents, and no less than a thousand.
/// 3. At most a thousand partitions are kept in mind.
///
/// State: the sizes, guarded by the mutex, which is not held while a partition is read. An edit that comes meanwhile may go uncounted; it
/// then counts as a change that came by another way.
final class PartitionSizes: Sendable {
    /// Until which change of its database a size counts.
    private struct Mark: Equatable {
        var sequence: SequenceNumber
        var purge: UInt64
    }

    private struct Size {
        var bytes: Int
        let documents: Int
        let mark: Mark
        /// How many edits were counted since it was read.
        var edits = 0
        let time: ContinuousClock.Instant
        /// Whether an edit was refused by it.
        var hasRefused = false
    }

    private static let (mostPartitions, fewChanges) = (1_000, 1_000)

    private let sizes = Mutex<NameMap<Size>>([:])
    private let read: @Sendable (DatabasePartition) throws -> PartitionInfo

    /// Knows of no partition yet.
    ///
    /// - Parameter read: Reads a partition.
    init(read: @escaping @Sendable (DatabasePartition) throws -> PartitionInfo = { try $0.info() })
    {
        self.read = read
    }

    /// Counts an edit, if the partition is not full or gets no larger by it.
    ///
    /// - Parameters:
    ///   - growth: How many bytes longer the document gets; negative where it gets shorter.
    ///   - partition: Its partition.
    ///   - limit: The bytes at which a partition is full.
    ///   - now: The time.
    /// - Returns: false where the edit is to be refused.
    /// - Throws: `DatabaseError` when the database cannot be read.
    func take(
        _ growth: Int, into partition: DatabasePartition, limit: Int,
        now: ContinuousClock.Instant = .now
    ) throws -> Bool {
        let mark = try partition.database.read {
            Mark(sequence: try $0.lastSequence, purge: UInt64(clamping: try $0.lastPurge))
        }
        let key = "\(partition.database.incarnation) \(partition.name)"
        var size = sizes.withLock { $0[key] }
        let isRefused = growth > 0 && (size?.bytes ?? 0) >= limit
        if size.map({ Self.isOld($0, mark, now, isRefused) }) ?? true {
            let info = try read(partition)
            let documents = info.documentCount.addingSaturated(info.deletedDocumentCount)
            size = Size(bytes: info.contentBytes, documents: documents, mark: mark, time: now)
        }
        guard var size else { return true }
        let isTaken = growth <= 0 || size.bytes < limit
        if isTaken {
            size.bytes = max(0, size.bytes.addingSaturated(growth))
            size.edits += 1
        } else {
            size.hasRefused = true
        }
        sizes.withLock { sizes in
            if sizes.count >= Self.mostPartitions, sizes[key] == nil { sizes = [:] }
            sizes[key] = size
        }
        return isTaken
    }

    /// Whether a size must be read anew before it is used.
    private static func isOld(
        _ size: Size, _ mark: Mark, _ now: ContinuousClock.Instant, _ isRefused: Bool
    ) -> Bool {
        let passed = Int(clamping: mark.sequence.subtractingSaturated(size.mark.sequence))
        if passed - size.edits > max(fewChanges, size.documents) { return true }
        guard isRefused, size.edits > 0 || mark != size.mark else { return false }
        let isRecent = size.time.duration(to: now) < .seconds(1)
        return !size.hasRefused || !isRecent || mark.purge != size.mark.purge
    }
}
