// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// A changes feed that stays open: rows come as documents change.
///
/// The feed reads nothing ahead of the task that takes rows. What has come in one piece is one page. While no
/// task takes, the server is made to wait. One task at a time takes.
actor LiveFeed {
    /// How the feed is written.
    enum Form: Sendable, CaseIterable {
        /// One row a line.
        case continuous
        /// Server-sent events.
        case eventSource
        /// Messages of a WebSocket, each an array of rows.
        case messages
    }

    /// What was taken.
    struct Taken {
        var rows: [ChangesFeedRow] = []
        /// Where the feed stands, as far as it told.
        var sequence: JSONValue?
        /// The feed has ended by itself, between two rows.
        var hasEnded = false
    }

    private let pieces: any WirePieces
    private let form: Form
    private var parser: ChangesFeedParser
    /// Where the next page begins, as the last one said.
    private(set) var position: RemoteSequence
    /// Whether it has given a row.
    private(set) var hasGivenRows = false

    init(_ pieces: any WirePieces, _ form: Form, at position: RemoteSequence) {
        self.pieces = pieces
        self.form = form
        self.position = position
        parser = ChangesFeedParser(
            form == .eventSource ? .eventSource : .continuous,
            maximumRowLength: HTTPPeer.longestRow)
    }

    /// Notes where a page ended.
    func move(to position: RemoteSequence) {
        self.position = position
        hasGivenRows = true
    }

    /// Waits for rows, or the end.
    ///
    /// - Throws: `ChangesFeedParser.Failure`, and what reading throws.
    func take() async throws -> Taken {
        while let piece = try await pieces.next() {
            let taken = form == .messages ? try rows(of: piece) : try rows(in: piece)
            if !taken.rows.isEmpty || taken.hasEnded { return taken }
        }
        if form != .messages { try parser.finish() }
        return Taken(hasEnded: true)
    }

    private func rows(in piece: [UInt8]) throws -> Taken {
        parser.push(piece)
        var taken = Taken()
        while let event = try parser.next() {
            switch event {
            case .row(let row):
                taken.rows.append(row)
                taken.sequence = row.sequence ?? taken.sequence
            case .heartbeat: break
            case .ended(let sequence, _):
                taken.sequence = sequence ?? taken.sequence
                taken.hasEnded = true
            }
        }
        return taken
    }

    /// A message of Sync Gateway's: an array of rows, empty when it has told everything; or, at the end, where
    /// it stands.
    private func rows(of message: [UInt8]) throws -> Taken {
        var taken = Taken()
        if message.isJSONObject {
            let object = JSONOutline(message, of: ["error", "reason", "last_seq"])
            if let error = object["error"]?.string {
                throw ChangesFeedParser.Failure.refused(
                    error: error, reason: object["reason"]?.string ?? "")
            }
            taken.sequence = object["last_seq"]
            taken.hasEnded = taken.sequence != nil
            return taken
        }
        // As if it were the normal form, in which a row that cannot be read leaves the others.
        var list = ChangesFeedParser(.normal, maximumRowLength: HTTPPeer.longestRow)
        for piece in [Array(#"{"results":"#.utf8), message, Array("}".utf8)] {
            list.push(piece)
            while let event = try list.next() {
                guard case .row(let row) = event else { continue }
                taken.rows.append(row)
                taken.sequence = row.sequence ?? taken.sequence
            }
        }
        try list.finish()
        return taken
    }
}
