// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The content of an attachment or blob on its way into a database: bytes, a file or a stream.
///
/// ```swift
/// note.setAttachment(named: "photo.jpg", contentType: "image/jpeg", .file(url))
/// note.setAttachment(named: "log", contentType: "text/plain", .bytes(Array("hello".utf8)))
/// note.setAttachment(
///     named: "film", contentType: "video/mp4",
///     .stream(reader).expecting(length: 2_000_000_000, digest: "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="))
/// ```
///
/// A file or a stream is read once, when the document is saved, in pieces of 256 kB; the file may go
/// after that.
public struct AttachmentContent: Sendable {
    enum Source: Sendable {
        case bytes([UInt8])
        case file(String)
        case stream(any AttachmentReader)
        /// What another database, or this one, has staged or stored.
        case handle(ContentFile, length: Int)
        /// What a function opens anew each time.
        case reopened(@Sendable () throws -> any AttachmentReader)
        /// What came piece by piece and lies in a temporary file of a store already.
        case spooled(StagedAttachment)
    }

    let source: Source
    /// What the stored bytes must be, where the caller or the peer said so.
    private(set) var expectedLength: Int?
    private(set) var expectedDigest: String?
    /// How the bytes are coded, and what they decode to, where the caller or the peer said so.
    private(set) var encoding: String?
    private(set) var expectedDecodedLength: Int?

    init(_ source: Source) { self.source = source }

    /// Content in memory.
    public static func bytes(_ bytes: [UInt8]) -> AttachmentContent {
        AttachmentContent(.bytes(bytes))
    }

    /// The content of a file of this machine; the save refuses the URL of anything else with `.io`.
    public static func file(_ url: URL) -> AttachmentContent {
        do { return AttachmentContent(.file(try url.localPath)) } catch {
            return AttachmentContent(.reopened { throw error })
        }
    }

    /// What a reader gives, from where it stands to its end.
    public static func stream(_ reader: any AttachmentReader) -> AttachmentContent {
        AttachmentContent(.stream(reader))
    }

    /// The same content, refused at the save unless it is as declared.
    ///
    /// - Parameters:
    ///   - length: Its length in bytes, as given: of coded content, the coded bytes.
    ///   - digest: Its digest, `sha1-` or `md5-` with base64.
    /// - Returns: The content with its declaration.
    public func expecting(length: Int? = nil, digest: String? = nil) -> AttachmentContent {
        var content = self
        if let length { content.expectedLength = length }
        if let digest { content.expectedDigest = digest }
        return content
    }

    /// The same content, said to be gzip: it is stored as it is and decoded when it is read.
    ///
    /// - Parameter decodedLength: What it decodes to, in bytes, refused at the save if that is wrong.
    /// - Returns: The content with its coding.
    public func gzipped(decodedLength: Int? = nil) -> AttachmentContent {
        var content = self
        content.encoding = AttachmentEncoding.gzip
        content.expectedDecodedLength = decodedLength
        return content
    }
}

/// The codings of stored content that are understood.
package enum AttachmentEncoding {
    /// The only one: gzip.
    package static let gzip = "gzip"
}
