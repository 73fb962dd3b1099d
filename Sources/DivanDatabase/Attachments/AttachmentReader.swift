// SPDX-License-Identifier: Apache-2.0

/// A source of bytes that are pulled one piece at a time.
///
/// Attachments are read through one and may be set from one, so content passes from one database to
/// another without lying in memory as a whole:
///
/// ```swift
/// try copy.setAttachment(
///     named: "film.mp4", contentType: "video/mp4", .stream(attachment.makeReader()))
/// ```
///
/// A reader goes forward only and is used by one thread at a time.
public protocol AttachmentReader: AnyObject, Sendable {
    /// Returns the next bytes: at least one, at most `count`; none at the end.
    ///
    /// - Throws: whatever the source throws; the content is then refused as a whole.
    func read(upTo count: Int) throws -> [UInt8]
}
