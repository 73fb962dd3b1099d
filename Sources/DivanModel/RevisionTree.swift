// SPDX-License-Identifier: Apache-2.0

/// The edit history of one document: a forest whose leaves are the current, competing revisions.
///
/// ```
/// generation    1     2       3     4
///
///              1-a ─ 2-b ─┬─ 3-c ─ 4-d          a live leaf, and the winning revision
///                         └─ 3-e ✝              a tombstone: this branch is deleted
///
///                                  ┄ 4-f        a live leaf, so a conflict; its ancestors
///                                               were forgotten, or never told
/// ```
///
/// A tree is a value. It does no I/O, knows no database and no wire; saving, replicating and
/// resolving are functions from a tree and a revision to a tree.
///
/// ```swift
/// var tree = RevisionTree()
/// try tree.insert(a, parent: nil, isTombstone: false, sequence: 1)     // a new document
/// try tree.insert(b, parent: a, isTombstone: false, sequence: 2)       // an edit
/// tree.insert(existing: theirs, isTombstone: false, sequence: 3)       // a peer's revision
/// tree.winner        // what reading the document shows
/// tree.conflicts     // what lost, and waits to be resolved
/// ```
///
/// ## Terms
///
/// - *Leaf*: a revision without a child. Every leaf is the latest state that some replica knew.
/// - *Tombstone*: a revision that deletes. A leaf that is no tombstone is *live*.
/// - *Branch*: a leaf with its ancestors. Branches share the ancestors that they have in common.
/// - *Winning revision*: the leaf that stands for the document, chosen alike on every peer.
/// - *Conflict*: a live leaf that is not the winning revision.
/// - *Stemming*: forgetting ancestors far from every leaf, so that a tree stays small.
/// - *Purging*: forgetting leaves as if they had never been.
///
/// ## Winner order
///
/// A live leaf wins over a tombstone; among equals the higher ``RevisionID`` wins. Nothing else
/// counts: not the time, not the order of arrival, not the length of what is left of a branch. So
/// peers that hold the same leaves agree without exchanging anything, and the document stays
/// deleted only if every leaf is a tombstone.
///
/// ## Tree order
///
/// The nodes stand in one array, in the order in which they are drawn here from left to right:
///
/// ```
///  index       0     1     2     3         4         5
///             4-d ─ 3-c ─ 2-b ─ 1-a       4-f       3-e ✝ ─ (2-b)
///             the winner's branch         the next leaf's,  then what the last leaf's branch
///                                         a root            does not share with those before
/// ```
///
/// The leaves follow each other in winner order, each with the part of its branch, newest first,
/// that does not stand in the array already: its *chain*. Three things come of it. The winner is
/// the first node, and can be read from an encoded tree without decoding the rest. In a chain the
/// parent is the next node and its generation follows, so neither is stored. And a tree has one
/// array and one encoding, so equality is equality of arrays.
///
/// ## Invariants
///
/// ``checkInvariants()`` tests each; every facet keeps them.
///
/// 1. A child's generation is its parent's plus one.
/// 2. A revision ID occurs once.
/// 3. A node is a leaf exactly if it is no node's parent.
/// 4. The leaves stand in strict winner order; so the first node is the winning revision.
/// 5. A node that is no leaf stands behind one of its children: the first that the array holds.
///    With 1 and 3 it follows that the array is the leaves' chains, and that there is no cycle.
///
/// ## Complexity
///
/// For n nodes with L leaves: the winner O(1); finding a revision, inserting, stemming, purging,
/// encoding and decoding O(n) with a very small factor, since a tree of one branch has at most
/// `revisionBodyLimit` nodes; extending the winning branch moves the array once and allocates nothing
/// else. Nothing recurses, so depth is bounded by memory only.
///
/// ## What it does not do
///
/// It does not hold bodies: a node's sequence names the row that does. It does not check digests
/// against bodies. It never merges contents; it only says who conflicts with whom.
///
/// ## Where to read on
///
/// Each facet has a file: `+Insertion` for edits, `+Merge` for a peer's revisions, `+Leaves`,
/// `+Winner`, `+Ancestry`, `+Stemming`, `+Purge`, `+Order`, `+Encoding`, `+Drawing` and
/// `+Invariants`.
public struct RevisionTree: Sendable, Equatable {
    /// Every known revision, in tree order.
    public internal(set) var nodes: [Node]

    /// Makes the tree of a document that does not exist.
    public init() {
        nodes = []
    }

    /// Makes a tree of nodes that are taken as they are, for tests of ``checkInvariants()``.
    ///
    /// - Parameter nodes: The nodes, which need not keep any invariant.
    package init(unchecked nodes: [Node]) {
        self.nodes = nodes
    }

    /// Whether no revision is known.
    public var isEmpty: Bool { nodes.isEmpty }
}

extension RevisionTree {
    /// One revision in a tree.
    public struct Node: Sendable, Equatable {
        /// The revision's ID.
        public let id: RevisionID

        /// Whether the revision deletes the document.
        ///
        /// Only the ID is known of an ancestor that came as part of a history; it counts as live.
        public internal(set) var isTombstone: Bool

        /// Whether no other revision is based on this one.
        public internal(set) var isLeaf: Bool

        // An index into `nodes`, or -1. Four bytes, so that a node takes 40 and not 56.
        var parentIndex: Int32

        // 0 if there is none: numbers begin at 1.
        var storedSequence: SequenceNumber

        /// The place of the parent in ``RevisionTree/nodes``.
        ///
        /// `nil` if the revision is the first of the document, or its parent was stemmed or is not
        /// known.
        public var parent: Int? { parentIndex < 0 ? nil : Int(parentIndex) }

        /// The row that holds the revision's body; `nil` if the body is gone or was never here.
        public var sequence: SequenceNumber? { storedSequence == 0 ? nil : storedSequence }

        /// Makes a node, whose links are taken as they are.
        ///
        /// - Parameters:
        ///   - id: The revision.
        ///   - isTombstone: Whether it deletes the document.
        ///   - isLeaf: Whether it has no child.
        ///   - parentIndex: The place of its parent; -1 if there is none.
        ///   - storedSequence: The row of its body; 0 if there is none.
        package init(
            id: RevisionID, isTombstone: Bool = false, isLeaf: Bool = false,
            parentIndex: Int32 = -1, storedSequence: SequenceNumber = 0
        ) {
            self.id = id
            self.isTombstone = isTombstone
            self.isLeaf = isLeaf
            self.parentIndex = parentIndex
            self.storedSequence = storedSequence
        }
    }

    /// The reason why an edit was refused.
    public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The edit is not based on a leaf, or would create a document that exists.
        case conflict
        /// The edit is based on a revision that the tree does not have.
        case parentNotFound(RevisionID)
        /// The new revision's generation is not its parent's plus one, or not 1 without a parent.
        case invalidGeneration(RevisionID)

        /// One sentence that says what is wrong.
        public var description: String {
            switch self {
            case .conflict:
                "The document has changed: the edit is not based on one of its leaves."
            case .parentNotFound(let parent):
                "The edit was based on revision \(parent), which the document does not have."
            case .invalidGeneration(let id):
                "The revision \(id) is not one generation above its parent."
            }
        }
    }

    /// Bytes that are not an encoded tree.
    public typealias Corruption = ModelCorruption

    /// Returns the place of a revision in ``nodes``.
    ///
    /// - Parameter id: The revision to look for.
    /// - Returns: `nil` if the revision is not known.
    public func index(of id: RevisionID) -> Int? {
        nodes.firstIndex { $0.id == id }
    }

    /// Returns the node of a revision.
    ///
    /// - Parameter id: The revision to look for.
    /// - Returns: `nil` if the revision is not known.
    public func node(_ id: RevisionID) -> Node? {
        index(of: id).map { nodes[$0] }
    }

    /// Notes which row holds the body of a revision. Does nothing if the revision is not known.
    ///
    /// - Parameters:
    ///   - sequence: The row; `nil` if the body is gone.
    ///   - id: The revision.
    public mutating func setSequence(_ sequence: SequenceNumber?, of id: RevisionID) {
        guard let index = index(of: id) else { return }
        nodes[index].storedSequence = sequence ?? 0
    }

    /// Notes that the bodies in some rows are gone, in one pass over the tree.
    ///
    /// - Parameter sequences: The rows.
    public mutating func forgetBodies(in sequences: Set<SequenceNumber>) {
        for index in nodes.indices where sequences.contains(nodes[index].storedSequence) {
            nodes[index].storedSequence = 0
        }
    }
}
