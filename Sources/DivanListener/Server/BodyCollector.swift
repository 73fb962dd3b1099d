// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

/// Collects the body of a request: in memory while it is short, then in a file without a name.
///
/// The file is sealed with a key of its own that is in memory only, since the body may be meant for an
/// encrypted database.
struct BodyCollector: Sendable {
    /// Longer bodies go to a file. Most requests, and most batches of replicators, are shorter.
    static let largestInMemory = 4 << 20

    private(set) var length = 0
    private var bytes: [UInt8] = []
    private var spool: SealedSpool?
    private var hasFailed = false

    /// Takes a piece.
    ///
    /// - Returns: false when the body is longer than `limit`, and the connection is to be closed.
    mutating func append(_ piece: UnsafeRawBufferPointer, limit: Int) -> Bool {
        length += piece.count
        guard length <= limit else { return false }
        guard !hasFailed else { return true }
        // SAFETY: the piece is copied within the call.
        unsafe bytes.append(contentsOf: piece)
        if length > Self.largestInMemory { spill() }
        return true
    }

    /// The whole body; nil when the system refused to keep it.
    mutating func finish() -> RequestBody? {
        defer { abandon() }
        guard let spool, !hasFailed else { return hasFailed ? nil : .bytes(bytes) }
        return (try? spool.finish()).map { .file($0) }
    }

    /// Closes the file of a body that never ended.
    mutating func abandon() {
        bytes = []
        spool = nil
    }

    /// Moves what is in memory to the file.
    private mutating func spill() {
        do {
            let open = try spool ?? SealedSpool()
            spool = open
            try open.write(bytes)
            bytes.removeAll(keepingCapacity: bytes.count < Self.largestInMemory)
        } catch {
            // Whoever sends is told at the end of the body that it could not be kept.
            hasFailed = true
            abandon()
        }
    }
}
