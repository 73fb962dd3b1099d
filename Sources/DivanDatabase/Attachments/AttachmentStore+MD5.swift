// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

// The MD5 of contents, as CouchDB names them.
//
//     arrives          computed while the content streams by, and noted
//     is referred to   its 16 bytes stand in the row of `attachmentReferences`
//     is asked for     noted? in a row? else the file is read, once while the process runs
//
// Rows of databases that an earlier release wrote have none.

/// What is known of them. What a key names never changes, so what is known holds.
///
/// State: the digests, guarded by the mutex.
final class KnownMD5s: Sendable {
    /// So many are kept. Beyond that all are forgotten: the next that is asked for is looked up again.
    private static let limit = 262_144

    private let known = Mutex<[AttachmentKey: [UInt8]]>([:])

    subscript(key: AttachmentKey) -> [UInt8]? { known.withLock { $0[key] } }

    func note(_ md5: [UInt8], of key: AttachmentKey) {
        known.withLock { known in
            if known.count >= Self.limit { known = [:] }
            known[key] = md5
        }
    }
}

extension AttachmentStore {
    /// The MD5 of a stored content, as stubs have it; nil when neither a row nor a file tells.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`.
    func md5(of key: AttachmentKey) throws -> String? {
        if let known = knownMD5s[key] { return ContentDigests.text(ofMD5: known) }
        guard
            let md5 = try referredMD5(of: key) ?? readMD5(of: key)
        else { return nil }
        knownMD5s.note(md5, of: key)
        return ContentDigests.text(ofMD5: md5)
    }

    private func readMD5(of key: AttachmentKey) throws -> [UInt8]? {
        let file: ContentFile?
        do { file = try open(key) } catch { throw DatabaseError.io(error) }
        guard let file else { return nil }
        let hash = ContentDigest(.md5, by: digest)
        let reader = FileReader(file, length: nil)
        while true {
            let piece = try reader.read(upTo: Self.chunkSize)
            if piece.isEmpty { return hash.finish() }
            hash.update(piece)
        }
    }
}
