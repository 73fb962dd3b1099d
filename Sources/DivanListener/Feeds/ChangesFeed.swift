// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// Writes a database's changes feed, in any of its modes, for as long as the client wants it.
///
///     normal       head, rows …, foot                                     ends at the end of the feed
///     longpoll     head, (waits), rows …, foot                            ends after the first rows
///     continuous   row, row, (waits), row …, foot                         ends at a timeout
///     eventsource  the same as events
///
/// It holds a place in the feed and no snapshot: each piece is read when the client has taken the
/// one before, so a slow client costs nothing and sees a document that changed twice once. While it
/// waits, a commit of any process wakes it.
///
/// A place that is not of this life of the database, or beyond the end of the feed, was counted elsewhere: the feed then
/// begins from its start, so that nothing is missed. A feed that waits ends when its database is deleted, or the listener
/// stops.
struct ChangesFeed: ResponseSteps {
    private static let stepSize = 1_000
    /// A piece ends behind the row that makes it longer: what lies ready for a client that does not take it.
    private static let pieceBytes = 64 << 10
    private let call: Call
    private let database: Database
    private let request: ChangesRequest
    private let sequences: WireSequence
    private var format: DocumentFormat
    private var position: SequenceNumber = 0
    private var left: Int
    private var written = 0
    private var phase = Phase.head
    private var lastOutput = ContinuousClock.now
    private var lastChange = ContinuousClock.now
    private var wake: (@Sendable () -> Void)?
    private var following: ListenerToken?
    private var hasGoneBack = false
    private var isConcluding = false
    /// What is sent with the first row, or once the client has waited for long.
    private var heldHead: [UInt8] = []
    private let beginning = ContinuousClock.now

    private enum Phase {
        case head, rows, foot, done
    }

    init(_ call: Call, _ request: ChangesRequest) throws {
        self.call = call
        self.request = request
        database = try call.database
        sequences = try call.sequences
        format = request.format
        format.budget = call.site.longDocuments
        left = request.limit ?? .max
    }

    var lane: ProductionLane {
        if let function = request.filter.functionName { return .function(function) }
        return request.mode == .normal ? .answers : .feeds
    }

    var beginsBeforeHead: Bool { request.filter.needsDocument }

    mutating func whenReady(_ wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    mutating func conclude() { isConcluding = true }

    mutating func cancel() {
        following?.remove()
        following = nil
    }

    mutating func next() throws -> Production {
        do { return try piece() } catch let error as DatabaseError
            where error.code == .databaseClosed && request.mode != .normal && phase == .rows
        {
            // The database was deleted, so nothing more comes; a list that is not whole is broken off.
            phase = .foot
            return try piece()
        }
    }

    private mutating func piece() throws -> Production {
        var text = JSONText()
        switch phase {
        case .done: return .end
        case .foot:
            phase = .done
            foot(&text)
            return text.bytes.isEmpty ? .end : .bytes(text.bytes)
        case .head:
            try begin()
            phase = .rows
            if request.mode == .normal || request.mode == .longpoll {
                text.raw("{\"results\":[\n")
            }
            // A longpoll's head is sent at once, for clients that time out without one, unless a filter may fail before.
            if request.mode == .longpoll, !beginsBeforeHead { return emit(text) }
        case .rows: swap(&text.bytes, &heldHead)
        }
        let head = text.bytes.count
        let isAtEnd = try left == 0 || step(&text)
        // What is left is told by the next feed, from here on.
        let isBreaking = isConcluding && request.mode != .normal
        if left == 0 || isBreaking || (isAtEnd && isFinished) {
            phase = .foot
            if text.bytes.isEmpty { return try piece() }
            return emit(text)
        }
        if beginsBeforeHead, !isAtEnd, text.bytes.count == head,
            beginning.duration(to: .now) < HeadDelay.longest
        {
            heldHead = text.bytes
            return .wait(.zero)
        }
        if !text.bytes.isEmpty { return emit(text) }
        return isAtEnd ? pause() : .wait(.zero)
    }

    /// Whether the end of the feed is the end of the answer.
    private var isFinished: Bool {
        switch request.mode {
        case .normal: true
        case .longpoll: written > 0
        case .continuous, .eventsource: false
        }
    }

    private mutating func begin() throws {
        if request.mode != .normal, let wake = wake {
            // Before anything is read, so that no commit falls between.
            following = try database.whenCommitted(wake)
        }
        let last = try database.lastSequence
        switch request.start {
        case .now: position = last
        case .after(let sequence): position = sequence > last ? 0 : sequence
        }
        lastOutput = .now
        lastChange = .now
    }

    private mutating func emit(_ text: JSONText) -> Production {
        lastOutput = .now
        return .bytes(text.bytes)
    }

    /// What to do when there is nothing to tell: a heartbeat, the end, or waiting.
    private mutating func pause() -> Production {
        if let timeout = request.timeout {
            let left = timeout - lastChange.duration(to: .now)
            if left > .zero { return .wait(left) }
            phase = .foot
            return .wait(.zero)
        }
        let heartbeat = request.heartbeat ?? ChangesRequest.defaultTimeout
        let left = heartbeat - lastOutput.duration(to: .now)
        if left > .zero { return .wait(left) }
        var text = JSONText()
        if request.mode == .eventsource {
            text.raw("event: heartbeat\ndata: \n\n")
        } else {
            text.raw("\n")
        }
        return emit(text)
    }

    // MARK: - Reading

    /// Appends rows; whether the end of the feed was reached.
    private mutating func step(_ text: inout JSONText) throws -> Bool {
        try database.read { transaction in
            if request.descending, request.mode == .normal {
                return try stepBack(transaction, &text)
            }
            // Of rows with documents, fewer fit into a piece.
            let limit = request.includeDocuments ? Self.stepSize / 10 : Self.stepSize
            let batch = try transaction.changes(since: position, limit: limit)
            for change in batch.changes {
                position = change.sequence
                try tell(change, transaction, &text)
                if left == 0 { return true }
                if text.bytes.count >= Self.pieceBytes { return false }
            }
            position = max(position, batch.lastSequence)
            return batch.changes.count < limit
        }
    }

    private mutating func stepBack(_ transaction: borrowing ReadTransaction, _ text: inout JSONText)
        throws
        -> Bool
    {
        let isFirst = written == 0 && !hasGoneBack
        let changes = try transaction.newestChanges(
            before: isFirst ? nil : position, limit: Self.stepSize)
        hasGoneBack = true
        for change in changes {
            if case .after(let start) = request.start, change.sequence <= start { return true }
            position = change.sequence
            try tell(change, transaction, &text)
            if left == 0 { return true }
            if text.bytes.count >= Self.pieceBytes { return false }
        }
        return changes.count < Self.stepSize
    }

    private mutating func tell(
        _ change: Change, _ transaction: borrowing ReadTransaction, _ text: inout JSONText
    ) throws {
        if request.activeOnly, change.isDeleted { return }
        guard request.filter.passes(change) else { return }
        var document: Document?
        if request.filter.needsDocument || request.includeDocuments
            || call.hidesDocuments
        {
            document = try transaction.document(
                withID: change.id, revision: change.revisions[0])
            if let document {
                // In this order, so that no failure names a document that is hidden.
                guard call.mayRead(document), try request.filter.passes(document) else { return }
            } else if call.hidesDocuments {
                return
            }
        }
        try append(change, document, transaction, &text)
        written += 1
        left -= 1
        lastChange = .now
    }

    // MARK: - Writing

    private func append(
        _ change: Change, _ document: Document?, _ transaction: borrowing ReadTransaction,
        _ text: inout JSONText
    ) throws {
        switch request.mode {
        case .normal, .longpoll: if written > 0 { text.raw(",\n") }
        case .eventsource: text.raw("data: ")
        case .continuous: break
        }
        text.raw("{\"seq\":")
        sequences.append(change.sequence, to: &text)
        text.raw(",\"id\":")
        text.string(change.id.text)
        text.raw(",\"changes\":[")
        let shown = request.allLeaves ? change.revisions[...] : change.revisions.prefix(1)
        for (index, revision) in shown.enumerated() {
            if index > 0 { text.bytes.append(JSONByte.comma) }
            text.raw("{\"rev\":")
            text.string(revision.description)
            text.bytes.append(JSONByte.closeBrace)
        }
        text.raw("]")
        if change.isDeleted { text.raw(",\"deleted\":true") }
        if request.includeDocuments {
            text.raw(",\"doc\":")
            if let document {
                let tree =
                    format.needsTree ? try transaction.revisionTree(of: change.id) : nil
                try format.append(document, tree, to: &text)
            } else {
                text.raw("null")
            }
        }
        text.bytes.append(JSONByte.closeBrace)
        switch request.mode {
        case .normal, .longpoll: break
        case .continuous: text.raw("\n")
        case .eventsource:
            text.raw("\nid: ")
            sequences.appendPlain(change.sequence, to: &text)
            text.raw("\n\n")
        }
    }

    private func foot(_ text: inout JSONText) {
        switch request.mode {
        case .normal, .longpoll: text.raw("\n],\n\"last_seq\":")
        case .continuous: text.raw("{\"last_seq\":")
        case .eventsource: return
        }
        sequences.append(position, to: &text)
        // Changes that are left are not asked about yet, so some may be hidden.
        if !call.hidesDocuments {
            text.raw(",\"pending\":")
            text.number(pending)
        }
        text.raw("}\n")
    }

    /// At most so many changes are left: sequences, of which some may be superseded.
    private var pending: UInt64 {
        guard !request.descending, let last = try? database.lastSequence else { return 0 }
        return last > position ? last - position : 0
    }
}

// `_changes`.
extension Call {
    /// `GET`, `POST /{db}/_changes`
    func changes() throws -> ListenerResponse {
        let request = try ChangesRequest(self)
        // A feed may last for days, and the body that asked for it is gone: what is left are the names of documents in it.
        if request.mode != .normal { memory.keepQuarter() }
        // What a function of the app decides may be another thing the next time.
        let isTagged = request.mode == .normal && !request.filter.isFunction
        let tag = try isTagged ? listTag(headers["Last-Event-ID"] ?? "") : nil
        return try tagged(tag) {
            var response = ListenerResponse.json(steps: try ChangesFeed(self, request))
            if request.mode == .eventsource {
                response.headers["Content-Type"] = "text/event-stream"
            }
            return response
        }
    }
}
