// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

/// Whose turn it is: an owner, and a name within what the owner has.
struct Turn: Sendable, Equatable {
    /// A network, or a database.
    @ByBytes var owner: String
    /// A name that the owner gives.
    @ByBytes var name = ""
}

/// Work that waits, and is taken by turns: one piece of each owner, and of what an owner has, one of each name.
///
///     waits, in the order of its coming         is taken as
///     a/ann a/bob a/bob b/cid a/ann             a/ann b/cid a/bob a/ann a/bob
///
/// So an owner with thousands of pieces delays another one's by one piece. A newcomer goes to the end of the turn, so each
/// piece is taken in the end.
struct TurnQueue<Work: Sendable>: Sendable {
    private struct Line {
        let name: String
        var works = WorkQueue<Work>()
    }

    private struct Owner {
        let name: String
        var lines: [Line]
        var count: Int { lines.reduce(0) { $0 + $1.works.count } }
    }

    private var owners: [Owner] = []
    /// How much waits.
    private(set) var count = 0

    /// Adds a piece of work.
    mutating func append(_ work: Work, for turn: Turn) {
        count += 1
        guard let index = owners.firstIndex(where: { $0.name.hasSameBytes(as: turn.owner) }) else {
            owners.append(Owner(name: turn.owner, lines: [Self.line(turn.name, work)]))
            return
        }
        let line = owners[index].lines.firstIndex { $0.name.hasSameBytes(as: turn.name) }
        if let line {
            owners[index].lines[line].works.append(work)
        } else {
            owners[index].lines.append(Self.line(turn.name, work))
        }
    }

    private static func line(_ name: String, _ work: Work) -> Line {
        var line = Line(name: name)
        line.works.append(work)
        return line
    }

    /// Takes the next piece that a closure lets through, with its turn; nil when there is none.
    mutating func next(where isAllowed: (Turn) -> Bool = { _ in true }) -> (Turn, Work)? {
        for index in owners.indices {
            let name = owners[index].name
            let place = owners[index].lines.firstIndex {
                isAllowed(Turn(owner: name, name: $0.name))
            }
            guard let place else { continue }
            var owner = owners.remove(at: index)
            var line = owner.lines.remove(at: place)
            guard let work = line.works.popFirst() else { return nil }
            if !line.works.isEmpty { owner.lines.append(line) }
            if !owner.lines.isEmpty { owners.append(owner) }
            count -= 1
            return (Turn(owner: name, name: line.name), work)
        }
        return nil
    }

    /// Takes back what came last of the owner that has the most, if that is more than a newcomer would have with one
    /// piece more; of the newcomer's own owner, if none has more, by the same rule for names.
    ///
    /// - Returns: The piece that makes room for the newcomer's; nil when the newcomer has as much as any other.
    mutating func makeRoom(for turn: Turn) -> Work? {
        guard let index = owners.indices.max(by: { owners[$0].count < owners[$1].count }) else {
            return nil
        }
        let own = owners.firstIndex { $0.name.hasSameBytes(as: turn.owner) }
        if owners[index].count > (own.map { owners[$0].count } ?? 0) + 1 {
            return takeLast(of: index, owners[index].lines.count - 1)
        }
        guard let own else { return nil }
        let lines = owners[own].lines
        let same = lines.first { $0.name.hasSameBytes(as: turn.name) }?.works.count ?? 0
        guard let line = lines.indices.max(by: { lines[$0].works.count < lines[$1].works.count }),
            lines[line].works.count > same + 1
        else { return nil }
        return takeLast(of: own, line)
    }

    private mutating func takeLast(of owner: Int, _ line: Int) -> Work? {
        guard let work = owners[owner].lines[line].works.popLast() else { return nil }
        if owners[owner].lines[line].works.isEmpty { owners[owner].lines.remove(at: line) }
        count -= 1
        return work
    }
}
