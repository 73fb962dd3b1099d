// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanModel
public import FoundationEssentials

/// A named piece of binary content that belongs to a revision of a document.
///
/// ```swift
/// if let photo = try database.document(withID: "task-1")?.attachment(named: "photo.jpg") {
///     print(photo.contentType ?? "?", photo.length)
///     let head = try photo.content(in: 0..<16)         // nothing else is read
///     for try await piece in photo.chunks() { print(piece.count) }      // nothing else is in memory
/// }
/// ```
///
/// Content of any size lies in a file of its own, beside the database's, and is read only when it is
/// asked for. The same content is stored once, however many documents have it under whatever names.
///
/// An attachment is a value that pins nothing: when its revision is compacted away or purged and
/// nothing else refers to the content, reading it throws `.attachmentNotFound`.
public struct DocumentAttachment: Sendable {
    /// The name; any text, never a path.
    public let name: String
    /// What the revision says about it: its stub.
    public let metadata: JSONObject
    /// The media type, such as `image/jpeg`; nil when the app or peer that stored it gave none. Nothing depends on it.
    public let contentType: String?
    /// The length in bytes, once decoded.
    public let length: Int
    /// The digest of the stored bytes: `sha1-` and base64.
    public let digest: String
    /// The generation of the revision in which the attachment was added or last changed; 0 while unsaved.
    public let revisionPosition: UInt64

    let stored: StoredContent

    /// Reads the stub of a stored revision; nil when it is malformed.
    init?(
        _ name: String, stub: JSONObject, store: UInt32, documentID: DocumentID,
        revision: RevisionID?
    ) {
        guard let metadata = try? AttachmentMetadata(stub),
            let length = Int(exactly: metadata.length)
        else { return nil }
        self.name = name
        self.metadata = stub
        contentType = metadata.contentType
        self.length = length
        digest = metadata.digest
        revisionPosition = metadata.revisionPosition
        stored = StoredContent(
            store: store, key: AttachmentKey(ofStub: metadata.digest), length: length,
            encoding: metadata.encoding,
            encodedLength: metadata.encodedLength.flatMap { Int(exactly: $0) },
            label: DatabaseError.label(ofAttachment: name), documentID: documentID,
            revision: revision)
    }

    /// How the stored bytes are coded: `gzip`, or nil when they are not. Reading decodes them.
    public var encoding: String? { stored.encoding }

    /// The length of the stored bytes, when they are coded.
    public var encodedLength: Int? { stored.encodedLength }

    /// Whether the content is here.
    public var isContentAvailable: Bool { stored.isAvailable }

    /// The file with the content, for reading only; nil when it is coded or not here, and in an
    /// encrypted database, where no file has the content as it is.
    ///
    /// The file goes with the last revision that refers to it: copy it to keep it.
    public var fileURL: URL? { stored.path.map { URL(filePath: $0) } }

    /// Returns the whole content.
    ///
    /// - Throws: `DatabaseError` with code `.attachmentNotFound` when it is not here, `.corrupted` when
    ///   the file has the wrong length, `.databaseClosed` or `.io`.
    public func content() throws -> [UInt8] { try stored.bytes() }

    /// Returns a part of the content; what lies beyond its end is left out.
    ///
    /// - Parameter range: Offsets in bytes, from 0.
    /// - Returns: At most as many bytes as the range has.
    /// - Throws: As `content()`.
    public func content(in range: Range<Int>) throws -> [UInt8] { try stored.bytes(range) }

    /// Opens the content, to be read piece by piece.
    ///
    /// - Throws: As `content()`.
    public func makeReader() throws -> any AttachmentReader { try stored.makeReader() }

    /// Opens a part of the content, to be read piece by piece.
    public func makeReader(in range: Range<Int>) throws -> any AttachmentReader {
        try stored.makeReader(range)
    }

    /// The content in pieces, for a task.
    ///
    /// - Parameter size: The most bytes of a piece.
    /// - Returns: The pieces; each iteration reads from the start.
    public func chunks(ofSize size: Int = 256 * 1_024) -> AttachmentChunks {
        AttachmentChunks(content: stored, size: Swift.max(1, size))
    }

    /// The bytes that are stored: of coded content, the coded ones.
    package var storedLength: Int { encodedLength ?? length }

    /// Opens the stored bytes, coded or not, to be read piece by piece.
    ///
    /// - Throws: As `content()`.
    package func makeStoredReader() throws -> any AttachmentReader {
        try stored.makeStoredReader()
    }

    /// The stored content on its way to another database, with its coding and digest. It is opened
    /// when it is read, as often as need be.
    package var transferContent: AttachmentContent {
        let stored = stored
        var content = AttachmentContent(.reopened { try stored.makeStoredReader() })
        if encoding != nil { content = content.gzipped(decodedLength: length) }
        return content.expecting(length: storedLength, digest: digest)
    }

    /// Reads the content and compares its digest.
    ///
    /// - Throws: As `content()`; `.corrupted` also when the digest is another one.
    public func verify() throws { try stored.verify() }
}

extension DocumentAttachment: CustomStringConvertible {
    /// Name, length and digest.
    public var description: String { "DocumentAttachment(\(name) \(length) bytes \(digest))" }
}

// MARK: - Of a document

extension Document {
    /// The names of the attachments, sorted.
    public var attachmentNames: [String] { body["_attachments"]?.keys ?? [] }

    /// The attachments, in the order of their names. Nothing of their content is read.
    public var attachments: [DocumentAttachment] {
        var attachments: [DocumentAttachment] = []
        body["_attachments"]?.forEachProperty { name, stub in
            if let attachment = attachment(name, stub) { attachments.append(attachment) }
        }
        return attachments
    }

    /// The attachment of a name; nil when there is none. Nothing of its content is read.
    public func attachment(named name: String) -> DocumentAttachment? {
        body["_attachments"]?[name].flatMap { attachment(name, $0) }
    }

    private func attachment(_ name: String, _ stub: PackedValue) -> DocumentAttachment? {
        guard case .object(let stub) = stub.jsonValue() else { return nil }
        return DocumentAttachment(
            name, stub: stub, store: store, documentID: id, revision: revisionID)
    }
}
