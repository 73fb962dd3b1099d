// SPDX-License-Identifier: Apache-2.0

/// Sends items to a server together, and halves what it refuses as a whole until the items that spoil it stand alone.
///
///     1 2 3 4 5 6 7 8      refused
///     1 2 3 4              taken
///             5 6 7 8      refused
///             5 6          taken
///                 7 8      refused
///                 7        refused: this one is to blame
///                   8      taken
///
/// Among n items one culprit costs 2 log₂ n requests, and no number of culprits costs more than 2 n.
///
/// **Whose fault it is.** A refusal for good (400, 413 …) concerns what was sent. A failure that may pass by itself (500,
/// 502, an answer that makes no sense) may concern the server as a whole, in which case halving would only add to its
/// trouble. So, as long as the server has taken nothing, it is asked once about no items at all: when that fails, too,
/// the failure is thrown. It is also thrown when `patience` items have failed alone and none was taken, since some servers
/// can answer but not write.
struct Halving<Item: Sendable, Outcome: Sendable>: Sendable {
    /// What a server made of a request.
    enum Answer: Sendable {
        /// What became of each item.
        case outcomes([Outcome])
        /// It took none of them.
        case spoiled(ReplicationError)
    }

    /// Sends items, or none.
    let ask: @Sendable ([Item]) async throws -> Answer
    /// What becomes of an item that spoils a request on its own.
    let blame: @Sendable (Item, ReplicationError) -> Outcome

    private var patience: Int { 20 }

    /// Sends all items.
    ///
    /// - Returns: What became of each, in their order.
    /// - Throws: What `ask` throws, and the error of a server that fails over everything.
    func send(_ items: [Item]) async throws -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: items.count)
        var pieces = items.isEmpty ? [] : [items.indices]
        var hasTaken = false
        var isAlive = false
        var failures = 0
        while let piece = pieces.popLast() {
            switch try await ask(Array(items[piece])) {
            case .outcomes(let found):
                hasTaken = true
                for (index, outcome) in zip(piece, found) { outcomes[index] = outcome }
            case .spoiled(let error):
                if error.isTransient, !hasTaken {
                    if !isAlive { try await proveAlive() }
                    isAlive = true
                    failures += piece.count == 1 ? 1 : 0
                    guard failures < patience else { throw error }
                }
                guard piece.count > 1 else {
                    outcomes[piece.lowerBound] = blame(items[piece.lowerBound], error)
                    continue
                }
                let middle = piece.lowerBound + piece.count / 2
                pieces += [middle..<piece.upperBound, piece.lowerBound..<middle]
            }
        }
        return outcomes.compactMap { $0 }
    }

    private func proveAlive() async throws {
        if case .spoiled(let error) = try await ask([]), error.isTransient { throw error }
    }
}
