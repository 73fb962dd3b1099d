// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanPlatform
internal import DivanSystem
internal import Synchronization

/// Content that an edit adds: not yet in the database, or staged in its store.
///
///     unread ──stage──► in a temporary file ──place──► in the store's files
///
/// Staging happens once, before the write transaction where that can be. What was staged serves every attempt to save:
/// after a conflict, in another database. Once it is placed the temporary file goes, so content that stays in memory
/// when it has been saved, as in a model, takes no file. If the transaction is undone, a sweep may remove the placed file,
/// too: then content that can be read again is staged again. Of any other content the temporary file is kept until the
/// transaction is committed.
///
/// One mutex guards the state and is held while the content is read.
final class PendingAttachment: Sendable {
    /// What content turned out to be.
    struct Facts {
        var key: AttachmentKey
        var md5: [UInt8]
        /// The bytes as they are stored, and what they decode to.
        var length: Int
        var decodedLength: Int
    }

    /// A temporary file of a placed content.
    private struct Spare {
        var staged: StagedAttachment
        /// Until this is kept the placed file may go.
        var outcome: BatchOutcome
    }

    private enum State {
        case unread
        case staged(StagedAttachment, Facts)
        /// It was placed in the store of a number.
        case placed(Facts, UInt32, Spare?)
        /// Its stream was read in part and cannot be read again.
        case spent

        /// The temporary file that there is.
        var temporary: (StagedAttachment, Facts)? {
            switch self {
            case .staged(let staged, let facts): (staged, facts)
            case .placed(let facts, _, let spare?): (spare.staged, facts)
            case .unread, .placed, .spent: nil
            }
        }
    }

    let content: AttachmentContent
    let contentType: String?
    /// What the body said besides: `revpos`, and properties that have no meaning here.
    let given: JSONObject
    /// How messages call it.
    let label: String
    private let state = Mutex(State.unread)

    init(
        _ content: AttachmentContent, contentType: String?, label: String, given: JSONObject = [:]
    ) {
        self.content = content
        self.contentType = contentType
        self.label = label
        self.given = given
    }

    /// Brings the content into a store's temporary file, unless it is in the store, and checks it against what was
    /// declared.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it is not as declared, `.io`,
    ///   `.storageFull`, and what its reader throws.
    func stage(in store: AttachmentStore, for id: DocumentID) throws {
        try state.withLock { state in
            if try placedFacts(state, in: store) == nil { _ = try staged(&state, store, id) }
        }
    }

    /// The same for content that a stored revision names by a digest, perhaps its MD5.
    ///
    /// - Throws: As `stage(in:for:)`, also when it is another content than that.
    func stage(as digest: String, in store: AttachmentStore, for id: DocumentID) throws
        -> StagedAttachment
    {
        let (found, facts) = try state.withLock { state in try staged(&state, store, id) }
        guard let key = AttachmentKey(ofStub: digest), key != facts.key else { return found }
        let writer = try KeyedWriter(key, in: store)
        let reader = try found.makeReader()
        while true {
            let piece = try reader.read(upTo: AttachmentStore.chunkSize)
            if piece.isEmpty { break }
            try writer.write(piece)
        }
        guard let keyed = try writer.finish() else {
            throw DatabaseError.attachmentDigest(
                label, id, found: facts.key.digest, declared: digest)
        }
        return keyed
    }

    /// Gives the content its final name in a store, in a write transaction.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - id: The document's ID, for messages.
    ///   - outcome: What becomes of the transaction, or of the batch inside it.
    /// - Returns: What the content is.
    /// - Throws: As `stage(in:for:)`.
    func place(in store: AttachmentStore, for id: DocumentID, until outcome: BatchOutcome) throws
        -> Facts
    {
        try state.withLock { state in
            if let facts = try placedFacts(state, in: store) {
                if case .placed(_, _, var spare?) = state {
                    spare.outcome = outcome
                    state = .placed(facts, store.number, spare)
                }
                return facts
            }
            let (staged, facts) = try staged(&state, store, id)
            try store.place(staged)
            let spare = content.isLasting ? nil : Spare(staged: staged, outcome: outcome)
            state = .placed(facts, store.number, spare)
            return facts
        }
    }

    /// What is known of the content, if it was placed in a store and is still there.
    private func placedFacts(_ state: State, in store: AttachmentStore) throws -> Facts? {
        guard case .placed(let facts, store.number, _) = state,
            try store.has(facts.key, length: facts.length)
        else { return nil }
        return facts
    }

    // MARK: - Staging

    private func staged(_ state: inout State, _ store: AttachmentStore, _ id: DocumentID) throws
        -> (StagedAttachment, Facts)
    {
        if let (staged, facts) = state.temporary, staged.store === store { return (staged, facts) }
        if let (staged, facts) = try spooled(store, id) {
            state = .staged(staged, facts)
            return (staged, facts)
        }
        let (reader, known) = try makeReader(&state, id)
        let (staged, facts) = try stage(reader, store, id)
        if let known, known.key != facts.key {
            throw DatabaseError.attachmentDigest(
                label, id, found: facts.key.digest, declared: known.key.digest)
        }
        state = .staged(staged, facts)
        return (staged, facts)
    }

    /// Reads the content from where it is, and tells what it was when it was read before.
    private func makeReader(_ state: inout State, _ id: DocumentID) throws
        -> (any AttachmentReader, Facts?)
    {
        // Saved in another database before: its temporary file is as good as the source.
        if let (staged, facts) = state.temporary { return (try staged.makeReader(), facts) }
        var known: Facts?
        if case .placed(let facts, let number, _) = state {
            known = facts
            if let reader = try makeReader(ofStored: facts.key, number) { return (reader, known) }
        }
        if case .stream = content.source {
            guard case .unread = state else { throw DatabaseError.attachmentSpent(label, id) }
            state = .spent
        }
        return (try content.makeReader(), known)
    }

    /// Reads what a store has of content whose source may be gone.
    private func makeReader(ofStored key: AttachmentKey, _ number: UInt32) throws -> FileReader? {
        guard !content.isLasting, let store = AttachmentStores.store(number) else { return nil }
        let file: ContentFile?
        do throws(SystemError) { file = try store.open(key) } catch {
            throw DatabaseError.io(error)
        }
        return file.map { FileReader($0, length: nil) }
    }

    /// Content that lies in the store's temporary files already; nil for any other.
    private func spooled(_ store: AttachmentStore, _ id: DocumentID) throws
        -> (StagedAttachment, Facts)?
    {
        guard case .spooled(let staged) = content.source, staged.store === store else {
            return nil
        }
        var check = ContentCheck(content, label: label, id: id)
        if content.isCoded {
            let reader = try content.makeReader()
            while true {
                let piece = try reader.read(upTo: AttachmentStore.chunkSize)
                if piece.isEmpty { break }
                try check.take(piece)
            }
        } else {
            check.skip(staged.length)
        }
        return (staged, try check.finish(staged))
    }

    private func stage(
        _ reader: any AttachmentReader, _ store: AttachmentStore, _ id: DocumentID
    ) throws -> (StagedAttachment, Facts) {
        var check = ContentCheck(content, label: label, id: id)
        let staged = try store.stage { count in
            let piece = try reader.read(upTo: count)
            try check.take(piece)
            return piece
        }
        return (staged, try check.finish(staged))
    }
}

extension PendingAttachment: ContentHolder {
    /// Removes the temporary file once the content is in the database for good.
    ///
    /// Where another thread reads the content just now, it is wanted again, and stays.
    func releaseContent() {
        state.withLockIfAvailable { state in
            guard case .placed(let facts, let store, let spare?) = state,
                spare.outcome.isKept, !spare.outcome.isUndone
            else { return }
            state = .placed(facts, store, nil)
        }
    }
}

extension AttachmentContent {
    /// Whether it can be read from its source again at any time.
    ///
    /// A file may go once it was saved, and so may the database that content comes from.
    var isLasting: Bool {
        switch source {
        case .bytes, .handle, .spooled: true
        case .file, .stream, .reopened: false
        }
    }
}

/// Compares content with what was declared of it, piece by piece.
private struct ContentCheck {
    private let content: AttachmentContent
    private let label: String
    private let id: DocumentID
    private var decoder: GzipDecoder?
    private var length = 0
    private var decodedLength = 0

    init(_ content: AttachmentContent, label: String, id: DocumentID) {
        self.content = content
        self.label = label
        self.id = id
        decoder = content.encoding == AttachmentEncoding.gzip ? GzipDecoder() : nil
    }

    /// Counts bytes that need not be looked at.
    mutating func skip(_ count: Int) { length += count }

    mutating func take(_ piece: [UInt8]) throws {
        length += piece.count
        // What is too long is refused before all of it lies on the disk.
        if let expected = content.expectedLength, length > expected {
            throw DatabaseError.attachmentLength(label, id, found: nil, declared: expected)
        }
        guard let decoder else { return }
        do {
            try decoder.decode(piece.span) { decodedLength += $0.count }
        } catch { throw DatabaseError.attachmentCoding(label, id) }
        // What decodes to too much is not decoded to its end.
        if let expected = content.expectedDecodedLength, decodedLength > expected {
            throw DatabaseError.attachmentLength(label, id, found: nil, declared: expected)
        }
    }

    /// - Returns: What the content turned out to be.
    func finish(_ staged: StagedAttachment) throws -> PendingAttachment.Facts {
        PendingAttachment.Facts(
            key: staged.key, md5: staged.md5, length: staged.length,
            decodedLength: try decodedLength(staged))
    }

    private func decodedLength(_ staged: StagedAttachment) throws -> Int {
        if let expected = content.expectedLength, length != expected {
            throw DatabaseError.attachmentLength(label, id, found: length, declared: expected)
        }
        if let expected = content.expectedDigest {
            let isMD5 = expected.hasBytePrefix("md5-")
            let found = isMD5 ? ContentDigests.text(ofMD5: staged.md5) : staged.key.digest
            guard found.hasSameBytes(as: expected) else {
                throw DatabaseError.attachmentDigest(label, id, found: found, declared: expected)
            }
        }
        guard let decoder else { return length }
        guard decoder.isAtEnd else { throw DatabaseError.attachmentCoding(label, id) }
        if let expected = content.expectedDecodedLength, decodedLength != expected {
            throw DatabaseError.attachmentLength(
                label, id, found: decodedLength, declared: expected)
        }
        return decodedLength
    }
}
