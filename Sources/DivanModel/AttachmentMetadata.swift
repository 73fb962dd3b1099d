// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// What a document body says about one of its attachments: everything but the content.
///
/// ```swift
/// let stub: JSONObject = [
///     "content_type": "text/plain", "digest": "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=",
///     "length": 5, "revpos": 1, "stub": true,
/// ]
/// let metadata = try AttachmentMetadata(stub)
/// metadata.length          // 5
/// metadata.stub == stub    // true
/// ```
///
/// In a body the metadata stands under `_attachments` and the attachment's name, as a *stub*. A
/// revision's digest covers the stub, so ``stub`` also gives back the properties that have no
/// meaning here.
public struct AttachmentMetadata: Sendable, Hashable {
    /// The media type, such as `image/jpeg`. `nil` when it is unknown.
    @ByBytes public var contentType: String?

    /// The algorithm and digest of the content as stored, such as `sha1-qvTG…=`.
    @ByBytes public var digest: String

    /// The length of the content in bytes, once decoded.
    public var length: UInt64

    /// The generation of the revision that the attachment was added or last changed in.
    public var revisionPosition: UInt64

    /// How the content is coded for storage and transfer: `gzip`, or `nil` if it is not.
    public var encoding: String?

    /// The length of the coded content in bytes, if it is coded.
    public var encodedLength: UInt64?

    /// Properties of the stub that have no meaning here.
    private var others: JSONObject = [:]

    /// Describes the content of an attachment.
    ///
    /// - Parameters:
    ///   - digest: The algorithm and digest.
    ///   - length: The length in bytes.
    ///   - revisionPosition: The generation of the revision that brings the content.
    ///   - contentType: The media type, if known.
    public init(
        digest: String, length: UInt64, revisionPosition: UInt64, contentType: String? = nil
    ) {
        self.digest = digest
        self.length = length
        self.revisionPosition = revisionPosition
        self.contentType = contentType
    }

    /// Reads a stub.
    ///
    /// - Parameter stub: The object under the attachment's name.
    /// - Throws: ``Failure`` that names the property that is missing or of the wrong type.
    public init(_ stub: JSONObject) throws(Failure) {
        digest = try Self.required(stub, "digest", \.string)
        length = try Self.required(stub, "length", \.uint64)
        revisionPosition = try Self.required(stub, "revpos", \.uint64)
        contentType = try Self.optional(stub, "content_type", \.string)
        encoding = try Self.optional(stub, "encoding", \.string)
        encodedLength = try Self.optional(stub, "encoded_length", \.uint64)
        for (key, value) in stub where !Self.knownKeys.contains(key) { others[key] = value }
    }

    /// The metadata as a stub, which stands in for content that is elsewhere.
    public var stub: JSONObject {
        var stub = others
        stub["digest"] = .string(digest)
        stub["length"] = JSONValue(length)
        stub["revpos"] = JSONValue(revisionPosition)
        stub["stub"] = true
        if let contentType { stub["content_type"] = .string(contentType) }
        if let encoding { stub["encoding"] = .string(encoding) }
        if let encodedLength { stub["encoded_length"] = JSONValue(encodedLength) }
        return stub
    }

    /// A stub that lacks a property, or has one of the wrong type.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The property.
        public var property: String

        /// Names the property that is wrong.
        ///
        /// - Parameter property: The property.
        public init(property: String) {
            self.property = property
        }

        /// One sentence that names the property.
        public var description: String {
            "An attachment's \"\(property)\" is missing or of the wrong type."
        }
    }

    /// The properties of a stub that have a meaning here, and those that bring content.
    package static let knownKeys: NameSet = [
        "digest", "length", "revpos", "content_type", "encoding", "encoded_length", "stub",
        // Content, where it comes along: no part of the metadata.
        "data", "follows",
    ]

    private static func required<Value>(
        _ stub: JSONObject, _ key: String, _ read: (JSONValue) -> Value?
    ) throws(Failure) -> Value {
        guard let value = stub[key].flatMap(read) else { throw Failure(property: key) }
        return value
    }

    private static func optional<Value>(
        _ stub: JSONObject, _ key: String, _ read: (JSONValue) -> Value?
    ) throws(Failure) -> Value? {
        stub[key] == nil ? nil : try required(stub, key, read)
    }
}
