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
        let items = documents.map(item)
        var outcomes = [PutOutcome?](repeating: nil, count: items.count)
        var alone: [(index: Int, item: Item)] = []
        // While the server stores some, the next ones are read here.
        try await withThrowingTaskGroup(of: [(Int, PutOutcome)].self) { group in
            var batch: [(index: Int, item: Item)] = []
            var (bytes, index, sending) = (0, 0, 0)
            func takeNext() async throws {
                for (index, outcome) in try await group.next() ?? [] { outcomes[index] = outcome }
                sending -= 1
            }
            func flush() async throws {
                if sending == Self.bulks { try await takeNext() }
                group.addTask { [batch] in
                    Array(zip(batch.map(\.index), try await self.send(batch.map(\.item))))
                }
                sending += 1
                batch = []
                bytes = 0
            }
            while index < items.count {
                for text in try await texts(of: items[index...]) {
                    var item = items[index]
                    defer { index += 1 }
                    do throws(DatabaseError) { item.text = try text.get() } catch {
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
            }
            if !batch.isEmpty { try await flush() }
            while sending > 0 { try await takeNext() }
        }
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

    /// The texts of the first of some documents, up to the bytes of one `_bulk_docs`; nil where a document's content
    /// does not belong inside JSON.
    private func texts(of items: ArraySlice<Item>) async throws
        -> [Result<[UInt8]?, DatabaseError>]
    {
        let takesCoded = takesCoded
        return try await database.background {
            var texts: [Result<[UInt8]?, DatabaseError>] = []
            var bytes = 0
            for item in items where bytes < Self.bulkBytes {
                do {
                    let text = try Self.inlineText(item.document, takesCoded: takesCoded)
                    bytes += text?.count ?? 0
                    texts.append(.success(text))
                } catch let error as DatabaseError { texts.append(.failure(error)) }
            }
            return texts
        }
    }

    /// The text of a document with all its content in it; nil where that does not belong inside JSON.
    func inlineText(_ document: WireDocument) async throws -> [UInt8]? {
        let takesCoded = takesCoded
        return try await database.background {
            try Self.inlineText(document, takesCoded: takesCoded)
        }
    }

    /// Whether content in place may be coded. CouchDB passes over what says how it is coded, and keeps it as it comes.
    private var takesCoded: Bool { lacks.withLock { $0.isDivan } }

    private static func inlineText(_ document: WireDocument, takesCoded: Bool) throws -> [UInt8]? {
        guard !document.hasLargeContent else { return nil }
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
