// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanStorage

/// Computes all partial reductions anew in one pass over the rows, in order.
///
/// For each level it keeps one open node. A row of rank r closes the open nodes of the levels 1 to r,
/// lowest first, each giving its result to the one above, and opens new ones.
struct PartialBuilder {
    private struct OpenNode {
        var key: [UInt8] = []
        var count = 0
        var reduction: Reduction?
    }

    private let seed: UInt64
    private let reducer: (any RowReducer)?
    /// The finished nodes by level; the first is unused.
    private var finished: [PartialNodes]
    /// The open nodes by level; the first is unused.
    private var openNodes: [OpenNode]

    init(seed: UInt64, reducer: (any RowReducer)?) {
        self.seed = seed
        self.reducer = reducer
        finished = [PartialNodes](repeating: PartialNodes(), count: RowRank.highest + 1)
        openNodes = (0...RowRank.highest).map { _ in
            OpenNode(reduction: reducer.map { Reduction($0) })
        }
    }

    /// Takes the next row.
    mutating func add(key: Span<UInt8>, value: Span<UInt8>) throws {
        let rank = RowRank.rank(of: key, seed: seed)
        if rank > 0 {
            let copy = [UInt8](copying: key)
            for level in 1...rank { try close(level, openingAt: copy) }
        }
        openNodes[1].count += 1
        guard reducer != nil else { return }
        openNodes[1].reduction?.add(key: key, value: RowValue.decode(value))
    }

    /// Closes all nodes, and gives them away in the order of their keys.
    mutating func nodes() throws -> PartialNodes {
        for level in 1...RowRank.highest { try close(level, openingAt: []) }
        // The lowest level has most of them, and those of others follow.
        finished.swapAt(0, 1)
        for level in 2...RowRank.highest { finished[0].append(finished[level]) }
        return finished[0]
    }

    private mutating func close(_ level: Int, openingAt key: [UInt8]) throws {
        let node = Partials.Node(
            count: openNodes[level].count,
            reduced: try openNodes[level].reduction?.finish() ?? .none)
        finished[level].append(
            key: Partials.key(level: level, openNodes[level].key), value: node.bytes)
        if level < RowRank.highest {
            openNodes[level + 1].count += node.count
            openNodes[level + 1].reduction?.add(node.reduced)
        }
        openNodes[level] = OpenNode(key: key, reduction: reducer.map { Reduction($0) })
    }
}
