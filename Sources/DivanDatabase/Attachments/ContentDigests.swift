// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Both digests of content that streams by: the SHA-1 that names it here, and the MD5 by which CouchDB and its clients know it.
///
/// One thread at a time.
struct ContentDigests: Sendable {
    /// The names of one content.
    struct Names {
        /// What its file is called.
        var key: AttachmentKey
        /// 16 bytes.
        var md5: [UInt8]
    }

    private let sha1: ContentDigest
    private let md5: ContentDigest

    init(by digest: any MessageDigest) {
        sha1 = ContentDigest(.sha1, by: digest)
        md5 = ContentDigest(.md5, by: digest)
    }

    /// Takes in the next piece.
    func update(_ piece: [UInt8]) {
        sha1.update(piece)
        md5.update(piece)
    }

    /// Ends the content; nil when a digest has a wrong length.
    func finish() -> Names? {
        AttachmentKey(sha1.finish().span).map { Names(key: $0, md5: md5.finish()) }
    }

    /// An MD5 as stubs have it.
    static func text(ofMD5 bytes: [UInt8]) -> String { "md5-" + Base64.encode(bytes) }
}
