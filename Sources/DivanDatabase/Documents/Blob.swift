// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanPlatform
internal import DivanSystem
public import FoundationEssentials

/// Binary content as a value inside a document's properties.
///
/// ```swift
/// task["photo"] = Blob(contentType: "image/jpeg", bytes)
/// try database.save(task)
///
/// let photo = try database.document(withID: task.id)?.blob(forKey: "photo")
/// let content = try photo?.content()
/// ```
///
/// A blob may stand anywhere: as a property, in an array, in an object. In the document it is an object
/// that names the content; the content lies in a file, as an attachment's does, and the two share
/// files:
///
///     {"@type": "blob", "content_type": "image/jpeg", "digest": "sha1-…", "length": 12345}
///
/// The content is stored with the document that is saved, in one transaction. The length and the
/// digest are known as soon as the blob is made.
///
/// A blob that was read from one database may be set in a document of another one: saving that copies the
/// content. The database that it was read from must be open then, and still have the content; otherwise the
/// save is refused with the error `.attachmentNotFound`. An object of a blob that is set as JSON
/// is kept as it is, with or without content.
public struct Blob: Sendable {
    /// What `@type` says in the object of a blob.
    public static let typeName = "blob"

    /// The object that stands for the blob in a document.
    public let properties: JSONObject
    /// The media type; nil when the app or peer that stored it gave none.
    public let contentType: String?
    /// The length in bytes: what the object says, or else that of the content, or 0 when it is not here.
    public var length: Int { stored.length ?? stored.foundLength ?? 0 }
    /// The digest of the content: `sha1-` and base64.
    public let digest: String

    private let stored: StoredContent

    /// Makes a blob of bytes.
    public init(contentType: String?, _ bytes: [UInt8]) {
        let hasher = OpenSSLDigest.shared.makeHasher(.sha1)
        hasher.update(bytes.span)
        let digest = AttachmentKey.prefix + Base64.encode(hasher.finish())
        self.init(contentType, digest, bytes.count, .bytes(bytes))
    }

    /// Makes a blob of a file, which is read now for its digest and once more when it is saved.
    ///
    /// - Throws: `DatabaseError` with code `.io`. A file that has changed when the blob is saved is
    ///   refused then.
    public init(contentType: String?, file url: URL) throws {
        let path = try url.localPath
        let handle: FileHandle
        do { handle = try FileHandle(path: path, .read) } catch {
            throw DatabaseError.io(error)
        }
        let reader = FileReader(ContentFile(handle), length: nil)
        let (digest, length) = try Self.digest(of: reader) { _ in }
        self.init(
            contentType, digest, length,
            .file(url).expecting(length: length, digest: digest))
    }

    /// Makes a blob of what a reader gives; it waits for its save in a nameless temporary file.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.storageFull`, and what the reader throws.
    public init(contentType: String?, stream reader: any AttachmentReader) throws {
        // It may be meant for an encrypted database, so it is encrypted in any case.
        let scratch: SealedScratch
        do throws(SystemError) { scratch = try SealedScratch() } catch {
            throw DatabaseError.io(error)
        }
        let (digest, length) = try Self.digest(of: reader) { piece in
            do throws(SystemError) { try scratch.write(piece) } catch {
                throw DatabaseError.io(error)
            }
        }
        let file: ContentFile
        do throws(SystemError) { file = try scratch.finish() } catch {
            throw DatabaseError.io(error)
        }
        self.init(contentType, digest, length, AttachmentContent(.handle(file, length: length)))
    }

    private init(
        _ contentType: String?, _ digest: String, _ length: Int, _ content: AttachmentContent
    ) {
        var properties: JSONObject = ["@type": .string(Self.typeName)]
        if let contentType { properties["content_type"] = .string(contentType) }
        properties["digest"] = .string(digest)
        properties["length"] = .integer(Int64(length))
        self.properties = properties
        self.contentType = contentType
        self.digest = digest
        stored = StoredContent(
            store: 0, key: AttachmentKey(digest: digest), length: length, label: "A blob",
            pending: PendingAttachment(content, contentType: contentType, label: "A blob"))
    }

    /// Reads the object of a blob; nil for any other object.
    init?(_ properties: JSONObject, store: UInt32) {
        guard Self.typeName.hasSameBytes(as: properties["@type"]?.string),
            let digest = properties["digest"]?.string
        else { return nil }
        self.properties = properties
        contentType = properties["content_type"]?.string
        self.digest = digest
        stored = StoredContent(
            store: store, key: AttachmentKey(digest: digest),
            length: properties["length"]?.int64.flatMap { Int(exactly: $0) }, label: "A blob")
    }

    private static func digest(
        of reader: any AttachmentReader, _ each: ([UInt8]) throws -> Void
    ) throws -> (digest: String, length: Int) {
        let hasher = OpenSSLDigest.shared.makeHasher(.sha1)
        var length = 0
        while true {
            let piece = try reader.read(upTo: AttachmentStore.chunkSize)
            if piece.isEmpty { break }
            hasher.update(piece.span)
            length += piece.count
            try each(piece)
        }
        return (AttachmentKey.prefix + Base64.encode(hasher.finish()), length)
    }

    /// The content that is in no database yet.
    var pending: PendingAttachment? { stored.pending }

    /// The store of the database that it was read from, by number; 0 for none.
    var origin: UInt32 { stored.store }

    /// Whether it has its content from the same place, and the same object.
    func isSame(as other: Blob) -> Bool {
        origin == other.origin && pending === other.pending && properties == other.properties
    }

    /// Whether a save may have to bring its content.
    var hasContent: Bool { pending != nil || (origin != 0 && stored.key != nil) }

    /// Whether the content must come from elsewhere before a store has it.
    ///
    /// - Throws: As `AttachmentStore.length(of:)`.
    func isLacking(in store: AttachmentStore) throws -> Bool {
        guard let key = stored.key, origin != store.number else { return false }
        return try !store.has(key, length: stored.length)
    }

    /// The content on its way from the database that the blob was read from to another one; nil where it is in none.
    ///
    /// It is opened when it is read, as often as need be. Where it is gone by then, that is an error.
    var transfer: PendingAttachment? {
        guard pending == nil, origin != 0, stored.key != nil else { return nil }
        let stored = stored
        let content = AttachmentContent(
            .reopened {
                do { return try stored.makeStoredReader() } catch let error as DatabaseError
                    where error.code == .attachmentNotFound || error.code == .databaseClosed
                {
                    throw DatabaseError.blobLeftBehind(error)
                }
            })
        return PendingAttachment(
            content.expecting(length: stored.length, digest: digest), contentType: contentType,
            label: "A blob")
    }

    /// Whether the content is here.
    public var isContentAvailable: Bool { stored.isAvailable }

    /// The file with the content, for reading only; nil before it is saved, when it is not here, and in
    /// an encrypted database, where no file has the content as it is.
    public var fileURL: URL? { stored.path.map { URL(filePath: $0) } }

    /// Returns the whole content.
    ///
    /// - Throws: As `DocumentAttachment.content()`.
    public func content() throws -> [UInt8] { try stored.bytes() }

    /// Returns a part of the content; what lies beyond its end is left out.
    public func content(in range: Range<Int>) throws -> [UInt8] { try stored.bytes(range) }

    /// Opens the content, to be read piece by piece.
    public func makeReader() throws -> any AttachmentReader { try stored.makeReader() }

    /// The content in pieces, for a task.
    public func chunks(ofSize size: Int = 256 * 1_024) -> AttachmentChunks {
        AttachmentChunks(content: stored, size: Swift.max(1, size))
    }

    /// Reads the content and compares its digest.
    public func verify() throws { try stored.verify() }
}

extension Blob: JSONConvertible {
    /// The object that stands for the blob.
    public var jsonValue: JSONValue {
        // A coder sees the JSON only, so a blob says itself that it has been coded.
        BlobCoding.collector?.add(self)
        return .object(properties)
    }

    /// The blob itself.
    public var blobs: [Blob] { [self] }
}

extension Blob: Equatable {
    /// Blobs are equal when their content and their type are.
    public static func == (left: Blob, right: Blob) -> Bool {
        left.digest.hasSameBytes(as: right.digest)
            && left.contentType.hasSameBytes(as: right.contentType)
            && left.length == right.length
    }
}

extension Fragment {
    /// The blob, or nil for anything else.
    public var blob: Blob? {
        guard let object else { return nil }
        if let unsaved = unsavedBlobs.first(where: { $0.properties == object }) { return unsaved }
        return Blob(object, store: store)
    }
}

extension PropertyReader {
    /// The blob, or nil.
    public func blob(forKey key: String) -> Blob? { self[key].blob }
}
