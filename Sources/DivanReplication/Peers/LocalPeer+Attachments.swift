// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

// A database of this process, asked for single attachments.
extension LocalPeer: AttachmentSource {
    /// Opens the stored bytes of an attachment, from the first one on.
    package func open(_ wanted: WantedAttachment, from offset: Int) async throws -> ArrivingContent
    {
        let database = database
        guard let attachment = try await attachment(wanted), attachment.isContentAvailable else {
            throw ReplicationError.noAttachment(wanted, at: name)
        }
        let reader = try await database.background { try attachment.makeStoredReader() }
        return ArrivingContent(start: 0, pieces: ReaderPieces(reader, in: database))
    }

    /// Whether the content is here.
    package func has(
        _ wanted: WantedAttachment, md5: @Sendable () async throws -> String
    ) async throws -> Bool {
        guard let attachment = try await attachment(wanted, orCurrent: false) else { return false }
        guard attachment.isContentAvailable else { return false }
        if attachment.digest.hasSameBytes(as: wanted.digest) { return true }
        guard attachment.digest.hasBytePrefix("md5-") else { return false }
        return attachment.digest.hasSameBytes(as: try await md5())
    }

    /// The attachment of the revision that was seen, else of the current one.
    private func attachment(_ wanted: WantedAttachment, orCurrent: Bool = true) async throws
        -> DocumentAttachment?
    {
        try await database.performRead { transaction in
            let seen = try? transaction.document(
                withID: wanted.documentID, revision: wanted.revisionID)
            if let seen { return seen.attachment(named: wanted.name) }
            return orCurrent
                ? try transaction.document(withID: wanted.documentID)?
                    .attachment(named: wanted.name) : nil
        }
    }
}

/// What a reader gives, read off the threads that tasks share.
private actor ReaderPieces: WirePieces {
    private let reader: any AttachmentReader
    private let database: Database

    init(_ reader: any AttachmentReader, in database: Database) {
        self.reader = reader
        self.database = database
    }

    func next() async throws -> [UInt8]? {
        let reader = reader
        let piece = try await database.background { try reader.read(upTo: 128 * 1_024) }
        return piece.isEmpty ? nil : piece
    }
}
