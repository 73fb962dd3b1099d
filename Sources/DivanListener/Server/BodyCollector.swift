// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

/// Collects the body of a request: in memory while it is short, then in a file without a name.
///
/// The file is sealed with a key of its own that is in memory only, since the body may be meant for an
/// encrypted database.
/// A body of more than 64 kB stays in memory only while there is room in the budget for such bodies; otherwise it goes to
/// the file at once.
struct BodyCollector: Sendable {
    /// Longer bodies go to a file. Most requests, and most batches of replicators, are shorter.
    static let largestInMemory = 4 << 20

    private(set) var length = 0
    private var bytes: [UInt8] = []
    private var spool: SealedSpool?
    private var hasFailed = false
    /// Where memory is reserved; nil for no bound.
    var budget: MemoryBudget?
    private var reservation: MemoryReservation?

    /// Takes a piece.
    ///
    /// - Returns: false when the body is longer than `limit`, and the connection is to be closed.
    mutating func append(_ piece: UnsafeRawBufferPointer, limit: Int) -> Bool {
        length += piece.count
        guard length <= limit else { return false }
        guard !hasFailed else { return true }
        // SAFETY: the piece is copied within the call.
        unsafe bytes.append(contentsOf: piece)
        if length > Self.largestInMemory || !hasRoom() { spill() }
        return true
    }

    /// Whether the body may stay in memory so far.
    private mutating func hasRoom() -> Bool {
        guard spool == nil else { return false }
        guard let budget, reservation == nil, length > Router.strangersBody else { return true }
        reservation = budget.tryReserve(Self.largestInMemory)
        return reservation != nil
    }

    /// The whole body; nil when the system refused to keep it. What was reserved for it stays so until it is abandoned.
    mutating func finish() -> RequestBody? {
        defer {
            bytes = []
            spool = nil
        }
        guard let spool, !hasFailed else { return hasFailed ? nil : .bytes(bytes) }
        return (try? spool.finish()).map { .file($0) }
    }

    /// Closes the file of a body that never ended, and gives its memory back.
    mutating func abandon() {
        bytes = []
        spool = nil
        reservation = nil
    }

    /// Moves what is in memory to the file.
    private mutating func spill() {
        do {
            let open = try spool ?? SealedSpool()
            spool = open
            try open.write(bytes)
            bytes = []
            reservation = nil
        } catch {
            // At the end of the body the client is told that it could not be kept.
            hasFailed = true
            abandon()
        }
    }
}
