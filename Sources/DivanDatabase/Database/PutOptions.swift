// SPDX-License-Identifier: Apache-2.0

/// What is unusual about a revision that ``Database/put(_:_:parent:options:attachments:)`` adds.
///
/// ```swift
/// try database.put("task-1", ["why": "done"], parent: task.revisionID, options: .tombstone)
/// ```
public struct PutOptions: OptionSet, Sendable, Hashable {
    /// The options as the bits of a number.
    public let rawValue: Int

    /// Makes options from the bits of a number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The revision is a tombstone, which deletes the document; its properties are kept.
    public static let tombstone = PutOptions(rawValue: 1)

    /// The parent may be any revision, not only a leaf, and the new one then makes a branch: a conflict on purpose.
    public static let allowConflict = PutOptions(rawValue: 2)
}
