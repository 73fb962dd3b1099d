// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanModel
internal import DivanStorage

/// The stored partial reductions of an index: a skip list over its rows whose shape does not depend
/// on history.
///
/// Above the rows lie eight levels. A row key of rank r (see ``RowRank``) has a node in each of the
/// levels 1 to r; one more node in each level stands before all rows, written −∞. A node holds the
/// count and the reduced value of the rows from its key up to the next key of its level:
///
///     level 2   −∞ ───────────────────────────────► f ──────────────────────►
///     level 1   −∞ ─────────► c ──────────────────► f ───────► i ───────────►
///     rows          a    b    c     d     e         f    g  h  i    j    k
///
///     b … i:    row b │ node c of level 1 │ node f of level 1 │ row i          4 pieces for 8 rows
///
/// So any range is a few nodes and a few rows: about 2 × 32 pieces for each level that the range
/// crosses. Editing a row changes the one node above it in each level.
///
/// ## Invariants
///
/// `IndexReader.checkPartials(reducer:)` tests the first three. Of the fourth a value knows nothing: `PartialsTests` test
/// the others after each transaction.
///
/// 1. The keys of a level are among the keys of the level below, and those of level 1 among the rows'.
/// 2. A node's count and value are those of the rows that it covers.
/// 3. The nodes follow from the rows and the seed alone. An index that grew by edits equals one that
///    was built at once, so verification compares the two.
/// 4. Rows and nodes change in one transaction.
///
/// ## The bytes
///
///     key     1 byte: the level, 1 to 8; then the row key, nothing for −∞
///     value   varint: the count; then one of
///                 nothing                 no reducer, or no rows
///                 01, packed value        the reduced value
///                 02, UTF-8               what the reducer threw
package enum Partials {
    /// The most values that a reducer gets at once.
    package static let largestStep = 256

    /// What a node holds.
    package struct Node: Equatable {
        /// What the reducer made of the covered rows.
        package enum Reduced: Equatable {
            /// There is no reducer, or there are no rows.
            case none
            case value(PackedValue)
            case failure(ReductionFailure)
        }

        /// How many rows it covers.
        package var count: Int
        /// What they reduce to.
        package var reduced: Reduced

        init(count: Int = 0, reduced: Reduced = .none) {
            self.count = count
            self.reduced = reduced
        }
    }

    /// The key of a node; `rowKey` is empty for −∞.
    static func key(level: Int, _ rowKey: [UInt8]) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(rowKey.count + 1)
        key.append(UInt8(level))
        key.append(contentsOf: rowKey)
        return key
    }
}

extension Partials.Node {
    private static let valueFollows: UInt8 = 1
    private static let failureFollows: UInt8 = 2

    /// Reads a node's value.
    init(_ bytes: Span<UInt8>) throws {
        var offset = 0
        let count = try Varint.decode(bytes, at: &offset)
        guard count <= UInt64(Int32.max) << 16 else {
            throw IndexCorruption("A partial reduction has an impossible count.")
        }
        self.count = Int(count)
        guard offset < bytes.count else {
            reduced = .none
            return
        }
        let rest = bytes.extracting((offset + 1)..<bytes.count)
        switch bytes[offset] {
        case Self.valueFollows: reduced = .value(PackedValue(copying: rest))
        case Self.failureFollows:
            let text = String(decoding: [UInt8](copying: rest), as: UTF8.self)
            reduced = .failure(ReductionFailure(text))
        default: throw IndexCorruption("A partial reduction is of an unknown kind.")
        }
    }

    /// The node's value.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        Varint.append(UInt64(count), to: &bytes)
        switch reduced {
        case .none: break
        case .value(let value):
            bytes.append(Self.valueFollows)
            bytes.append(contentsOf: value.bytes)
        case .failure(let failure):
            bytes.append(Self.failureFollows)
            bytes.append(contentsOf: failure.description.utf8)
        }
        return bytes
    }
}

/// The nodes of one level, read in order.
struct LevelCursor {
    private let level: UInt8
    private let cursor: BlockCursor

    init(_ level: Int, of partials: Store, _ reader: any StorageReader) throws {
        self.level = UInt8(level)
        cursor = try BlockCursor(partials, reader)
    }

    /// Goes to the node of a key and returns it; nil when there is none.
    func node(at rowKey: [UInt8]) throws -> Partials.Node? {
        let key = Partials.key(level: Int(level), rowKey)
        guard try cursor.seek(toAtLeast: key.span), cursor.isAt(key.span) else { return nil }
        return try here()
    }

    /// Goes to the node that covers a row key, and returns its own key and what it holds; an empty key
    /// and nothing before the level has nodes.
    func cover(of rowKey: [UInt8]) throws -> (key: [UInt8], node: Partials.Node?) {
        let key = Partials.key(level: Int(level), rowKey)
        guard try cursor.seek(toAtMost: key.span, ascending: true), let found = try rowKeyHere()
        else {
            return ([], nil)
        }
        return (found, try here())
    }

    /// The row key of the node that covers a row key: the greatest that is not above it.
    func floor(of rowKey: [UInt8]) throws -> [UInt8] {
        let key = Partials.key(level: Int(level), rowKey)
        return try cursor.seek(toAtMost: key.span) ? rowKeyHere() ?? [] : []
    }

    /// The row key of the last node before a row key.
    func predecessor(of rowKey: [UInt8]) throws -> [UInt8] {
        let floor = try floor(of: rowKey)
        guard floor == rowKey else { return floor }
        return try cursor.previous() ? rowKeyHere() ?? [] : []
    }

    /// Goes to the next node and returns its row key; nil at the end of the level.
    func next() throws -> [UInt8]? { try cursor.next() ? rowKeyHere() : nil }

    /// Goes to the first node at or after a key; nil at the end of the level.
    func seek(toAtLeast rowKey: [UInt8]) throws -> [UInt8]? {
        let key = Partials.key(level: Int(level), rowKey)
        return try cursor.seek(toAtLeast: key.span) ? rowKeyHere() : nil
    }

    /// The node that the cursor stands on.
    func here() throws -> Partials.Node {
        var node = Partials.Node()
        try cursor.withValue { node = try Partials.Node($0) }
        return node
    }

    func close() { cursor.close() }

    /// The row key of the node here; nil on another level.
    private func rowKeyHere() throws -> [UInt8]? {
        var rowKey: [UInt8]?
        try cursor.withKey { key in
            guard key.count > 0, key[0] == level else { return }
            rowKey = [UInt8](copying: key.extracting(1..<key.count))
        }
        return rowKey
    }
}
