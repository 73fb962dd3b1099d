// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// What becomes of a document in conflict.
///
/// ```
///                  .keep(2-b)              .save(merged)              .delete
///
/// 1-a ─┬─ 2-c      1-a ─┬─ 2-c ─ 3-d ✝     1-a ─┬─ 2-c ─ 3-m          1-a ─┬─ 2-c ─ 3-d ✝
///      └─ 2-b           └─ 2-b                  └─ 2-b ─ 3-e ✝             └─ 2-b ─ 3-e ✝
/// ```
///
/// Each makes the same revision IDs on every device that decides alike, so devices that resolve the
/// same conflict apart agree when they meet.
public enum ConflictResolution: Sendable {
    /// One leaf stays as it is; the others get tombstones.
    case keep(Document)
    /// A new revision on top of the winner has these properties; the other leaves get tombstones.
    ///
    /// Properties equal to the winner's make no new revision: then the winner is kept. Without
    /// `_attachments` among them the winner's attachments go on.
    case save(JSONObject)
    /// Every leaf gets a tombstone: the document is deleted.
    case delete
}

/// Decides how the conflicts of documents end.
///
/// ```swift
/// struct LongestText: ConflictResolver {
///     func resolve(_ conflict: Conflict) -> ConflictResolution {
///         let longest = conflict.leaves.max { $0["text"].count < $1["text"].count }
///         return .keep(longest ?? conflict.winner)
///     }
/// }
/// try database.resolveConflicts(with: LongestText())
/// ```
///
/// Ready resolvers are `.keepWinner`, `.keepLatest(by:)` and `.mergeFields`. Where a decision is
/// needed in one place only, use a closure: `resolveConflicts(of: id) { conflict in … }`.
///
/// A resolver should depend on the conflict alone, not on the time or the device. Then devices that
/// resolve the same conflict without knowing of each other make the same revisions; otherwise they
/// may make another conflict, or delete between them every version there was.
public protocol ConflictResolver: Sendable {
    /// Decides one conflict.
    ///
    /// Called outside a transaction, perhaps again when the document changes meanwhile.
    ///
    /// - Parameter conflict: The document's live revisions and their common ancestor.
    /// - Returns: What becomes of the document.
    /// - Throws: Anything, which leaves the document in conflict.
    func resolve(_ conflict: Conflict) throws -> ConflictResolution
}

/// Keeps the revision that wins anyway.
public struct KeepWinner: ConflictResolver {
    /// Makes the resolver.
    public init() {}

    /// Keeps the winner.
    public func resolve(_ conflict: Conflict) -> ConflictResolution { .keep(conflict.winner) }
}

/// Keeps the revision with the latest date.
public struct KeepLatest: ConflictResolver {
    /// The top-level property that holds the date.
    public var key: String

    /// Makes the resolver.
    ///
    /// - Parameter key: The top-level property that holds the date: ISO-8601 text, or a number of
    ///   milliseconds since 1970. A revision without one counts as older than all with one.
    public init(by key: String) { self.key = key }

    /// Keeps the revision with the latest date; of equal ones, the one that would win.
    public func resolve(_ conflict: Conflict) -> ConflictResolution {
        var latest = conflict.winner
        var date = self.date(of: latest)
        for other in conflict.others {
            guard let otherDate = self.date(of: other) else { continue }
            if date.map({ otherDate > $0 }) ?? true { (latest, date) = (other, otherDate) }
        }
        return .keep(latest)
    }

    private func date(of document: Document) -> Double? {
        let value = document.body[key]
        return value?.millisecondsSince1970.map(Double.init) ?? value?.double
    }
}

/// Merges the properties of all revisions, each compared with the common ancestor.
///
/// The rules are those of ``ThreeWayMerge``.
public struct MergeFields: ConflictResolver {
    /// Makes the resolver.
    public init() {}

    /// Saves the merged properties.
    public func resolve(_ conflict: Conflict) -> ConflictResolution {
        .save(ThreeWayMerge.merge(conflict))
    }
}

extension ConflictResolver where Self == KeepWinner {
    /// Keeps the revision that wins anyway.
    public static var keepWinner: KeepWinner { KeepWinner() }
}

extension ConflictResolver where Self == KeepLatest {
    /// Keeps the revision with the latest date in a top-level property.
    public static func keepLatest(by key: String) -> KeepLatest { KeepLatest(by: key) }
}

extension ConflictResolver where Self == MergeFields {
    /// Merges the properties of all revisions, each compared with the common ancestor.
    public static var mergeFields: MergeFields { MergeFields() }
}
