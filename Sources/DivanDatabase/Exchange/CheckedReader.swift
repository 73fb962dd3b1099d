// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanPlatform
internal import Synchronization

/// Reads content, and at its end throws where the bytes were not those that its digest names.
///
/// State: what has been read so far, guarded by the mutex; nil once it was compared.
final class CheckedReader: AttachmentReader {
    private let reader: any AttachmentReader
    private let damage: DatabaseError
    private let check: Mutex<KeyCheck?>

    init(_ reader: any AttachmentReader, _ key: AttachmentKey, damage: DatabaseError) {
        self.reader = reader
        self.damage = damage
        check = Mutex(KeyCheck(key, by: OpenSSLDigest.shared))
    }

    func read(upTo count: Int) throws -> [UInt8] {
        let piece = try reader.read(upTo: count)
        let isDamaged = check.withLock { check in
            guard piece.isEmpty else {
                check?.update(piece)
                return false
            }
            defer { check = nil }
            return check.map { !$0.finish() } ?? false
        }
        guard !isDamaged else { throw damage }
        return piece
    }
}

// Stored content on its way to another database.
extension AttachmentContent {
    /// The length of the content once it is decoded, where that is known without reading it.
    package var decodedLength: Int? { isCoded ? expectedDecodedLength : knownLength }

    /// Opens the content as `makeReader()` does. The reader throws at the end when the bytes are not those of the
    /// content's digest, so that damage does not travel.
    ///
    /// - Parameters:
    ///   - name: The attachment's name, for the error.
    ///   - id: The document's ID, for the error.
    /// - Returns: The reader, of the bytes as they are stored.
    /// - Throws: `DatabaseError` with code `.io`, `.corrupted` or `.attachmentNotFound`.
    package func makeCheckedReader(_ name: String, of id: DocumentID) throws -> any AttachmentReader
    {
        let reader = try makeReader()
        guard let key = expectedDigest.flatMap(AttachmentKey.init(ofStub:)) else { return reader }
        return CheckedReader(reader, key, damage: Self.damage(name, id))
    }

    /// Reads short content at once, as it is stored, and compares it with its digest.
    ///
    /// - Parameters:
    ///   - name: The attachment's name, for the error.
    ///   - id: The document's ID, for the error.
    /// - Returns: The bytes, coded or not.
    /// - Throws: `DatabaseError` with code `.corrupted` when they are damaged, `.io` or `.attachmentNotFound`.
    package func storedBytes(_ name: String, of id: DocumentID) throws -> [UInt8] {
        let reader = try makeCheckedReader(name, of: id)
        var bytes: [UInt8] = []
        while true {
            let piece = try reader.read(upTo: AttachmentStore.chunkSize)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }

    /// Reads short content as `storedBytes(_:of:)` does, and decodes it where it is coded.
    ///
    /// - Parameters:
    ///   - name: The attachment's name, for the error.
    ///   - id: The document's ID, for the error.
    /// - Returns: The content.
    /// - Throws: As `storedBytes(_:of:)`.
    package func decodedBytes(_ name: String, of id: DocumentID) throws -> [UInt8] {
        let bytes = try storedBytes(name, of: id)
        guard isCoded else { return bytes }
        let decoded = try? GzipBytes.decode(bytes, limit: expectedDecodedLength ?? 0)
        guard let decoded, decoded.count == expectedDecodedLength else {
            throw Self.damage(name, id)
        }
        return decoded
    }

    private static func damage(_ name: String, _ id: DocumentID) -> DatabaseError {
        .attachmentDamaged(DatabaseError.label(ofAttachment: name), id, nil)
    }
}
