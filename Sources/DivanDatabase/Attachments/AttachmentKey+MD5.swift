// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

// Content that is known by its MD5 only.
//
// CouchDB names content by MD5. Where the content comes along, its SHA-1 is taken and stands in the body
// from then on. Where it is left at the server for now, this database cannot know its SHA-1, so the body keeps
// the MD5, and the key is that with a mark behind it:
//
//     in a body     md5-XUFAKrxLKna5cZ2REBfFkg==
//     in a row      the 16 bytes of the MD5, then "md5" and NUL
//
// The same bytes may then lie here twice, under either name; each is kept as long as a revision refers to it
// by that name.
extension AttachmentKey {
    private static let md5Prefix = "md5-"
    private static let md5Mark: [UInt8] = [0x6D, 0x64, 0x35, 0x00]

    /// Reads the digest of an attachment's stub, by SHA-1 or MD5; nil for anything else.
    package init?(ofStub digest: String) {
        guard digest.hasBytePrefix(Self.md5Prefix) else {
            self.init(digest: digest)
            return
        }
        guard let bytes = Base64.decode(String(digest.dropFirst(Self.md5Prefix.count))),
            bytes.count == DigestAlgorithm.md5.byteCount
        else { return nil }
        self.init((bytes + Self.md5Mark).span)
    }

    /// Whether it looks like one made of an MD5. One of four thousand million SHA-1 does so, too.
    var mayBeMD5: Bool { Array(bytes.suffix(4)) == Self.md5Mark }

    fileprivate init?(md5 digest: [UInt8]) { self.init((digest + Self.md5Mark).span) }
}

/// Tells whether bytes that stream by are the content of a key. One thread at a time.
final class KeyCheck {
    private let key: AttachmentKey
    private let sha1: ContentDigest
    private let md5: ContentDigest?
    /// The MD5 of the content, once it has ended, where it was asked for.
    private(set) var foundMD5: [UInt8]?

    init(_ key: AttachmentKey, by digest: any MessageDigest, takingMD5: Bool = false) {
        self.key = key
        sha1 = ContentDigest(.sha1, by: digest)
        md5 = takingMD5 || key.mayBeMD5 ? ContentDigest(.md5, by: digest) : nil
    }

    /// Takes in the next piece.
    func update(_ piece: [UInt8]) {
        sha1.update(piece)
        md5?.update(piece)
    }

    /// Ends the content; whether it is the key's.
    func finish() -> Bool {
        foundMD5 = md5?.finish()
        return AttachmentKey(sha1.finish().span) == key
            || foundMD5.flatMap { AttachmentKey(md5: $0) } == key
    }

    /// Takes in what a reader gives and ends; whether it is the content of the key.
    func isContent(_ reader: any AttachmentReader) throws -> Bool {
        while true {
            let piece = try reader.read(upTo: AttachmentStore.chunkSize)
            if piece.isEmpty { return finish() }
            update(piece)
        }
    }
}
