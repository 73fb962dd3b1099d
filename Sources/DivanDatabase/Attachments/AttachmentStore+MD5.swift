// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// The MD5 of contents, as CouchDB names them: known from their arrival, or from the one time that they were read for it.
///
/// What a key names never changes, so what is known holds. State: the digests, guarded by the mutex.
final class KnownMD5s: Sendable {
    /// So many are kept. Beyond that all are forgotten: the next that is asked for is read again.
    private static let limit = 4_096

    private let known = Mutex<[AttachmentKey: String]>([:])

    subscript(key: AttachmentKey) -> String? { known.withLock { $0[key] } }

    func note(_ md5: String, of key: AttachmentKey) {
        known.withLock { known in
            if known.count >= Self.limit { known = [:] }
            known[key] = md5
        }
    }
}

extension AttachmentStore {
    /// The MD5 of a stored content, as stubs have it; nil when the content is not here.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`.
    func md5(of key: AttachmentKey) throws -> String? {
        if let known = knownMD5s[key] { return known }
        let file: ContentFile?
        do { file = try open(key) } catch { throw DatabaseError.io(error) }
        guard let file else { return nil }
        let hash = ContentDigest(.md5, by: digest)
        let reader = FileReader(file, length: nil)
        while true {
            let piece = try reader.read(upTo: Self.chunkSize)
            if piece.isEmpty { break }
            hash.update(piece)
        }
        let md5 = "md5-" + Base64.encode(hash.finish())
        knownMD5s.note(md5, of: key)
        return md5
    }
}
