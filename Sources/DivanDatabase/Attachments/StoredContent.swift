// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanPlatform
internal import DivanSystem

/// Where the content of an attachment or a blob is, and how it is read.
///
/// Everything about reading is here once; `DocumentAttachment` and `Blob` put their names before it. No
/// file is opened before the caller asks for bytes.
struct StoredContent: Sendable {
    /// The store of its database, by number; 0 for none.
    var store: UInt32
    /// The content's name in the store; nil when its digest is of a kind that the store does not have.
    var key: AttachmentKey?
    /// The length once decoded; nil where nothing tells it.
    var length: Int?
    /// How it is coded, and the length of what is stored then.
    var encoding: String?
    var encodedLength: Int?
    /// How messages call it.
    var label: String
    var documentID: DocumentID?
    var revision: RevisionID?
    /// The content itself, while it is in no database.
    var pending: PendingAttachment?

    /// The bytes that the file must have, where they are known.
    private var fileLength: Int? { encoding == nil ? length : encodedLength }

    /// The bytes that the file has; nil when it is not here, or cannot be looked at.
    var foundLength: Int? {
        key.flatMap { key in try? AttachmentStores.store(store)?.length(of: key) }
    }

    // MARK: - Reading

    /// Whether the content is here, whole as far as its length tells.
    var isAvailable: Bool {
        if pending != nil { return true }
        guard let found = foundLength else { return false }
        return found == fileLength ?? found
    }

    /// A reader of all or a part of the decoded content.
    func makeReader(_ range: Range<Int>? = nil) throws -> any AttachmentReader {
        let range = range ?? 0..<Int.max
        guard range.lowerBound >= 0 else {
            throw DatabaseError(.invalidQuery, "A range of content begins at 0 or later.")
        }
        let file: ContentFile
        var end: Int
        if let pending {
            switch pending.content.source {
            case .bytes(let bytes):
                return BytesReader(Array(bytes[range.clamped(to: 0..<bytes.count)]))
            case .handle(let handle, let length): (file, end) = (handle, length)
            case .spooled(let staged): (file, end) = (try staged.open(), staged.length)
            case .file(let path): (file, end) = try open(path)
            // A blob's stream is read when the blob is made, so only attachments come here.
            case .stream, .reopened: throw DatabaseError.attachmentGone(label, documentID, revision)
            }
        } else {
            (file, end) = try openStored()
        }
        guard encoding == AttachmentEncoding.gzip else {
            end = min(end, range.upperBound)
            return FileReader(file, range: min(range.lowerBound, end)..<end)
        }
        return GzipReader(
            FileReader(file, range: 0..<end), range: range, length: length,
            damage: .attachmentDamaged(label, documentID, revision))
    }

    /// A reader of the stored bytes as they are.
    func makeStoredReader() throws -> any AttachmentReader {
        let (file, length) = try openStored()
        return FileReader(file, range: 0..<length)
    }

    /// All or a part of the decoded content.
    func bytes(_ range: Range<Int>? = nil) throws -> [UInt8] {
        let reader = try makeReader(range)
        // A plain file comes in one piece; decoded content in many.
        var bytes = try reader.read(upTo: .max)
        while true {
            let piece = try reader.read(upTo: .max)
            if piece.isEmpty { break }
            bytes += piece
        }
        // Of a coding that is not understood, the coded bytes have been read.
        if encoding != nil, range == nil, bytes.count != length {
            throw DatabaseError.attachmentDamaged(label, documentID, revision)
        }
        return bytes
    }

    /// The file with the content; nil when it is coded or encrypted there, or not here.
    var path: String? {
        guard encoding == nil, let key, isAvailable, pending == nil,
            let store = AttachmentStores.store(store), store.dataKey == nil
        else { return nil }
        return store.path(of: key)
    }

    /// Reads the stored bytes and compares their digest.
    func verify() throws {
        guard pending == nil else { return }
        let (file, length) = try openStored()
        guard
            let key, let store = AttachmentStores.store(store),
            try KeyCheck(key, by: store.digest)
                .isContent(FileReader(file, range: 0..<length))
        else { throw DatabaseError.attachmentDamaged(label, documentID, revision) }
    }

    // MARK: - Opening

    private func openStored() throws -> (ContentFile, Int) {
        guard let store = AttachmentStores.store(store) else {
            throw DatabaseError(
                .databaseClosed,
                "The database of \(DatabaseError.inside(label)) is closed or deleted; open it again and read the document "
                    + "anew.", documentID: documentID, revisionID: revision)
        }
        let file: ContentFile?
        do { file = try key.flatMap { key throws(SystemError) in try store.open(key) } } catch {
            throw DatabaseError.io(error)
        }
        guard let file, let found = file.length else {
            throw DatabaseError.attachmentGone(label, documentID, revision)
        }
        if let fileLength, found != fileLength {
            throw DatabaseError.attachmentDamaged(label, documentID, revision)
        }
        return (file, found)
    }

    private func open(_ path: String) throws -> (ContentFile, Int) {
        do {
            let file = try FileHandle(path: path, .read)
            return (ContentFile(file), file.length ?? 0)
        } catch { throw DatabaseError.io(error) }
    }
}
