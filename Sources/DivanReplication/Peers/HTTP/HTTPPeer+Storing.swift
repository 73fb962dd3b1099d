// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import Synchronization

// Storing revisions.
extension HTTPPeer {
    /// A document on its way.
    struct Item: Sendable {
        var document: WireDocument
        /// The names of the attachments that were taken out of it.
        var leftOut: [String] = []
        /// Its text with all content in it; nil where its content follows in parts.
        var text: [UInt8]?

        var id: DocumentID { document.id ?? "" }
        /// Whether it goes better without its ID in a URL, of which many servers take 8,000 bytes at most.
        var hasLongID: Bool { DocumentPath.document(id.text).utf8.count > 4_000 }
    }

    /// Stores revisions: most together, those with large attachments one by one.
    ///
    /// What the server refuses as a whole is halved until the documents that spoil it stand alone, so one document
    /// never keeps the others; see `Halving`.
    ///
    /// - Throws: `ReplicationError`.
    package func put(_ documents: [WireDocument]) async throws -> [PutOutcome] {
        var outcomes = [PutOutcome?](repeating: nil, count: documents.count)
        var batch: [(index: Int, item: Item)] = []
        var alone: [(index: Int, item: Item)] = []
        var bytes = 0
        func flush() async throws {
            let sent = try await send(batch.map(\.item))
            for (place, outcome) in zip(batch, sent) { outcomes[place.index] = outcome }
            batch = []
            bytes = 0
        }
        for (index, document) in documents.enumerated() {
            var item = item(document)
            do { item.text = try await inlineText(item.document) } catch let error as DatabaseError
            {
                outcomes[index] = try Self.failure(error, item)
                continue
            }
            guard let length = item.text?.count else {
                alone.append((index, item))
                continue
            }
            if bytes + length > Self.bulkBytes, !batch.isEmpty { try await flush() }
            batch.append((index, item))
            bytes += length
        }
        try await flush()
        for (index, outcome) in try await sendAlone(alone) { outcomes[index] = outcome }
        return outcomes.compactMap { $0 }
    }

    /// Sends documents with large attachments, a few at a time.
    private func sendAlone(_ items: [(index: Int, item: Item)]) async throws -> [(Int, PutOutcome)]
    {
        try await withThrowingTaskGroup(of: (Int, PutOutcome).self) { group in
            var waiting = items.makeIterator()
            var outcomes: [(Int, PutOutcome)] = []
            func startNext() {
                guard let (index, item) = waiting.next() else { return }
                group.addTask { (index, try await self.send([item])[0]) }
            }
            for _ in 0..<Self.singles { startNext() }
            while let outcome = try await group.next() {
                outcomes.append(outcome)
                startNext()
            }
            return outcomes
        }
    }

    private func item(_ document: WireDocument) -> Item {
        var item = Item(document: document)
        if let attachmentLimit {
            item.leftOut = item.document.leaveOut { $0.knownLength ?? 0 > attachmentLimit }
        }
        return item
    }

    private func send(_ items: [Item]) async throws -> [PutOutcome] {
        let sending = Halving<Item, PutOutcome>(
            ask: { items in
                if items.count == 1, !(items[0].hasLongID && items[0].text != nil) {
                    return try await self.putAlone(items[0])
                }
                return try await self.putTogether(items)
            },
            blame: { item, error in
                var error = error
                error.documentID = item.id
                return .failed(error)
            })
        return try await sending.send(items)
    }

    /// What becomes of a document whose content cannot be read here.
    ///
    /// - Throws: What concerns the whole database.
    static func failure(_ error: DatabaseError, _ item: Item) throws -> PutOutcome {
        var failure = ReplicationError(error)
        guard [.attachmentNotFound, .corrupted, .invalidDocument, .io].contains(error.code) else {
            throw failure
        }
        failure.documentID = item.id
        return .failed(failure)
    }

    /// What became of a document, with what was left out of it.
    func told(_ outcome: PutOutcome, _ item: Item) -> PutOutcome {
        guard case .stored = outcome, !item.leftOut.isEmpty else { return outcome }
        return .storedWithout(.leftOut(item.leftOut, of: item.id, at: name))
    }

    /// The text of a document with all its content in it; nil where that does not belong inside JSON.
    func inlineText(_ document: WireDocument) async throws -> [UInt8]? {
        guard !document.hasLargeContent else { return nil }
        guard !document.inlineContents.isEmpty else {
            var text: [UInt8] = []
            document.appendJSON(to: &text, contents: [:])
            return text
        }
        // CouchDB passes over what says how content in place is coded, and keeps it as it comes.
        let takesCoded = lacks.withLock { $0.isDivan }
        return try await database.background {
            var contents: NameMap<WireDocument.Written> = [:]
            let id = document.id ?? ""
            for (name, content) in document.inlineContents {
                contents[name] =
                    takesCoded
                    ? .stored(try content.storedBytes(name, of: id))
                    : .decoded(try content.decodedBytes(name, of: id))
            }
            var text: [UInt8] = []
            document.appendJSON(to: &text, contents: contents)
            return text
        }
    }
}
