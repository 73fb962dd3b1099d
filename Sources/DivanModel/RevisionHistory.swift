// SPDX-License-Identifier: Apache-2.0

/// A revision and its ancestors, newest first: what one peer tells another about a revision.
///
/// ```swift
/// let history = try RevisionHistory(start: 3, digests: ["c", "b", "a"])
/// history.ids          // 3-c, 2-b, 1-a
/// ```
///
/// The history may stop before generation 1, because peers forget old ancestors. It never skips a
/// generation.
public struct RevisionHistory: Sendable, Hashable {
    /// The revision itself, then its parent, and so on. Never empty.
    public private(set) var ids: [RevisionID]

    /// Makes a history of IDs.
    ///
    /// - Parameter ids: At least one ID, newest first, each one generation below the one before.
    /// - Throws: `IDFailure.brokenHistory` if there is none or a generation is skipped, and what an ID lacks that no
    ///   revision can have.
    public init(_ ids: [RevisionID]) throws(IDFailure) {
        guard !ids.isEmpty else { throw .brokenHistory }
        for id in ids { try id.validate() }
        for index in 1..<ids.count
        where ids[index].generation + 1 != ids[index - 1].generation {
            throw .brokenHistory
        }
        self.ids = ids
    }

    /// Makes a history of the form that peers exchange as `_revisions`.
    ///
    /// - Parameters:
    ///   - start: The generation of the newest revision.
    ///   - digests: The digests, newest first; the generations descend one by one from `start`.
    ///   - limit: How many revisions to keep; the rest, which may be very long, is not looked at.
    /// - Throws: `IDFailure` if there is no digest, one is not valid, or a generation would be 0.
    public init(
        start: UInt64, digests: [String], limit: Int = .max
    ) throws(IDFailure) {
        guard !digests.isEmpty, limit >= 1 else { throw .brokenHistory }
        guard start >= UInt64(digests.count) else { throw .brokenHistory }
        var ids: [RevisionID] = []
        ids.reserveCapacity(min(digests.count, limit))
        var generation = start
        for digest in digests.prefix(limit) {
            ids.append(try RevisionID(generation: generation, digest: digest))
            generation -= 1
        }
        self.ids = ids
    }

    /// Makes a history of one revision whose ancestors are not known.
    ///
    /// - Parameter id: The revision, whose ID was checked.
    package init(_ id: RevisionID) {
        assert(id.isValid, "A history begins with a revision.")
        ids = [id]
    }

    /// The revision whose history this is.
    public var newest: RevisionID { ids[0] }

    /// The oldest ancestor that is known; the revision itself if none is.
    public var oldest: RevisionID { ids[ids.count - 1] }

    /// Forgets all but the newest revisions.
    ///
    /// - Parameter depth: How many to keep, at least 1.
    public mutating func stem(to depth: Int) {
        precondition(depth >= 1, "A history keeps at least one revision.")
        if ids.count > depth { ids.removeLast(ids.count - depth) }
    }
}
