// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// A place in the feeds, and how to read on from it. A value: each follower keeps its own.
protocol ChangeReader<Element>: Sendable {
    associatedtype Element: Sendable

    /// Returns what has come since the last time, and moves on; empty when there is nothing.
    mutating func next(_ core: DatabaseCore) throws -> [Element]

    /// Has the hub call `handler` when there may be something.
    func follow(_ hub: ChangeHub, _ handler: @escaping ChangeHub.Handler) -> ListenerToken
}

/// Reads the changes of all documents.
struct DatabaseChangeReader: ChangeReader {
    /// How many documents one `DatabaseChange` tells of at most: what bounds the memory of a listener.
    static let limit = 10_000

    var mark: DatabaseMark

    mutating func next(_ core: DatabaseCore) throws -> [DatabaseChange] {
        while true {
            let start = mark
            let piece = try core.read { try $0.detailedChanges(after: start, limit: Self.limit) }
            mark = piece.end
            let changes = piece.labelled(by: core.hub.sources)
            if !changes.isEmpty || piece.hasForgottenPurges {
                return [
                    DatabaseChange(
                        changes: changes, lastSequence: mark.sequence,
                        hasForgottenPurges: piece.hasForgottenPurges)
                ]
            }
            if mark == start { return [] }
        }
    }

    func follow(_ hub: ChangeHub, _ handler: @escaping ChangeHub.Handler) -> ListenerToken {
        hub.follow(handler)
    }
}

/// Reads the changes of one document.
struct DocumentChangeReader: ChangeReader {
    let id: DocumentID
    var mark: DatabaseMark

    mutating func next(_ core: DatabaseCore) throws -> [DocumentChange] {
        let (id, start) = (id, mark)
        let piece = try core.read { try $0.detailedChanges(of: id, after: start) }
        mark = piece.end
        return piece.labelled(by: core.hub.sources)
    }

    func follow(_ hub: ChangeHub, _ handler: @escaping ChangeHub.Handler) -> ListenerToken {
        hub.follow(documentID: id, handler)
    }
}
