// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanPlatform
internal import Synchronization

/// Content that an edit adds: not yet in the database, or staged in its store.
///
/// Staging happens once, before the write transaction where that can be, and what was staged serves
/// every attempt to save: after a rollback, after a conflict, in another database. One mutex guards the
/// state and is held while the content is read.
final class PendingAttachment: Sendable {
    /// The staged content, and what it decodes to.
    struct Staged {
        var attachment: StagedAttachment
        var decodedLength: Int
    }

    private enum State {
        case unread
        case staged(Staged)
        /// Its stream was read in part and cannot be read again.
        case spent
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

    /// Brings the content into a store's temporary file and checks it against what was declared.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it is not as declared, `.io`,
    ///   `.storageFull`, and what its reader throws.
    func stage(in store: AttachmentStore, for id: DocumentID) throws -> Staged {
        try state.withLock { state in
            switch state {
            case .staged(let staged) where staged.attachment.store === store:
                return staged
            case .staged(let staged):
                // Saved in another database before: its temporary file is as good as the source.
                let copy = try Self.stage(staged.attachment.makeReader(), self, store, id)
                state = .staged(copy)
                return copy
            case .spent:
                throw DatabaseError.attachmentSpent(label, id)
            case .unread:
                if case .stream = content.source { state = .spent }
                let staged =
                    try spooled(store, id)
                    ?? Self.stage(try content.makeReader(), self, store, id)
                state = .staged(staged)
                return staged
            }
        }
    }

    /// Content that lies in the store's temporary files already; nil for any other.
    private func spooled(_ store: AttachmentStore, _ id: DocumentID) throws -> Staged? {
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
        return Staged(attachment: staged, decodedLength: try check.finish(staged))
    }

    private static func stage(
        _ reader: any AttachmentReader, _ pending: PendingAttachment, _ store: AttachmentStore,
        _ id: DocumentID
    ) throws -> Staged {
        var check = ContentCheck(pending.content, label: pending.label, id: id)
        let staged = try store.stage { count in
            let piece = try reader.read(upTo: count)
            try check.take(piece)
            return piece
        }
        let decoded = try check.finish(staged)
        return Staged(attachment: staged, decodedLength: decoded)
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

    /// - Returns: What the content decodes to, in bytes.
    func finish(_ staged: StagedAttachment) throws -> Int {
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
