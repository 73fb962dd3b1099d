// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel

/// The IDs of the documents that were noted last: at least a thousand, and at most twice as many.
///
/// Who tells of a replication's end must know whether its last error is of a document that was told of. That
/// document is among the last that failed, however many did.
package struct RecentIDs: Sendable {
    private static let limit = 1_000

    /// When each was noted last.
    private var numbers: [DocumentID: Int] = [:]
    private var noted = 0

    /// Makes an empty list.
    package init() {}

    /// Whether it is among them.
    package func contains(_ id: DocumentID) -> Bool { numbers[id] != nil }

    /// Notes an ID.
    package mutating func insert(_ id: DocumentID) {
        noted += 1
        numbers[id] = noted
        guard numbers.count >= 2 * Self.limit else { return }
        let newest = numbers.values.sorted().suffix(Self.limit)
        numbers = numbers.filter { $0.value >= newest[newest.startIndex] }
    }
}
