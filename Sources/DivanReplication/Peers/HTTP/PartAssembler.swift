// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// What the parts of a multipart body are to each other.
enum MultipartKind {
    /// A document, then its attachments.
    case related
    /// Documents.
    case mixed

    init(_ headers: HTTPHeaders) {
        let type = (headers["Content-Type"] ?? "").lowercased()
        self = type.hasBytePrefix("multipart/related") ? .related : .mixed
    }
}

/// Puts documents together from the parts of a multipart body, with their attachments on the disk.
///
///     multipart/related        multipart/mixed
///       document                 document                     application/json
///       attachment               multipart/related            a document with
///       attachment                 document                     its attachments
///                                  attachment
///                                error                        application/json; error="true"
///
/// Attachments are matched to the entries that say they follow: by file name, else by digest, else in
/// their order. What they are is checked against what the entry declares when they are stored.
///
/// The entries of a JSON answer are put in one by one. What cannot be read of many documents is counted and left out:
/// the replication that misses it asks for it alone, and learns then what is wrong with it.
struct PartAssembler {
    private let database: Database
    /// The documents that are whole so far, and what the source says in place of one.
    private(set) var whole: [FetchedRevision] = []
    /// The documents that came, also those that cannot be read.
    private(set) var entryCount = 0
    /// The length of the documents that came, as text.
    private(set) var byteCount = 0
    /// Whether the parts belong to one document.
    private var isInDocument = false
    private var group: Group?
    private var part: Part?
    /// The bytes of the attachment that is being received.
    private var spooled = 0
    /// The longest JSON part.
    private static let jsonLimit = 128 << 20

    private struct Group {
        var document: WireDocument?
        var contents: [(headers: HTTPHeaders, content: AttachmentContent)] = []
        /// No part with content is longer, by what the document declares.
        var longestContent = 0
    }

    private enum Part {
        case json(HTTPHeaders, [UInt8])
        case attachment(HTTPHeaders, ContentSpool)
    }

    init(_ database: Database) { self.database = database }

    /// Says whether the whole body is one document with its attachments.
    mutating func begin(isDocument: Bool) {
        isInDocument = isDocument
        if isDocument { group = Group() }
    }

    mutating func take(_ event: MultipartReader.Event) throws {
        switch event {
        case .partBegan(let headers):
            if isInDocument, let document = group?.document {
                // More parts than the document says would be files without end.
                guard group?.contents.count ?? 0 < document.followingNames.count else {
                    throw ReplicationError(
                        .invalidAnswer, "More attachments follow than the document says.",
                        documentID: document.id)
                }
                part = .attachment(headers, try ContentSpool(for: database))
                spooled = 0
            } else {
                part = .json(headers, [])
            }
        case .bytes(let bytes): try append(bytes)
        case .partEnded: try endPart()
        case .nestedBegan:
            isInDocument = true
            group = Group()
        case .nestedEnded:
            entryCount += 1
            if let document = group.flatMap(Self.assembled),
                let fetched = try? HTTPPeer.fetched(document)
            {
                whole.append(fetched)
            }
            group = nil
            isInDocument = false
        case .ended: break
        }
    }

    /// The document of a body that is one document.
    ///
    /// - Throws: `ReplicationError` when there is none.
    func document() throws -> WireDocument {
        guard let document = group.flatMap(Self.assembled) else { throw Self.noDocument }
        return document
    }

    private static var noDocument: ReplicationError {
        ReplicationError(.invalidAnswer, "A multipart answer has no document.", isTransient: true)
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) throws {
        switch part {
        case .json(let headers, var text):
            part = nil
            text += bytes
            guard text.count <= Self.jsonLimit else {
                throw ReplicationError(
                    .invalidAnswer, "A document is longer than \(Self.jsonLimit) bytes.")
            }
            part = .json(headers, text)
        case .attachment(_, let spool):
            spooled += bytes.count
            guard spooled <= group?.longestContent ?? 0 else {
                throw ReplicationError(
                    .invalidAnswer, "An attachment is longer than its document says.",
                    documentID: group?.document?.id)
            }
            try spool.write(Array(bytes))
        case nil: break
        }
    }

    /// The bytes of the document that is coming in.
    var heldBytes: Int { if case .json(_, let text)? = part { text.count } else { 0 } }

    /// The text of a document that has come, without its coding.
    ///
    /// - Parameter hold: Gets the number of bytes that are held before each piece that is decoded.
    /// - Returns: The text; nil where no document ends.
    /// - Throws: `ReplicationError` where it cannot be decoded.
    mutating func decodedText(hold: (Int) async -> Void) async throws -> [UInt8]? {
        guard case .json(var headers, let text)? = part else { return nil }
        guard headers["Content-Encoding"] == "gzip" else { return text }
        let plain = try await Self.inflated(text, hold: hold)
        headers["Content-Encoding"] = nil
        part = .json(headers, plain)
        return plain
    }

    private mutating func endPart() throws {
        defer { part = nil }
        switch part {
        case .attachment(let headers, let spool):
            group?.contents.append((headers, try spool.finish()))
        case .json(let headers, let text): try endJSON(headers, text)
        case nil: break
        }
    }

    private mutating func endJSON(_ headers: HTTPHeaders, _ text: [UInt8]) throws {
        byteCount += text.count
        if HeaderParameters(headers["Content-Type"] ?? "")["error"] == "true" {
            // In place of a document and its attachments there may be any number of them.
            guard !isInDocument else { throw Self.noDocument }
            entryCount += 1
            if let error = try? PackedValue(parsing: text) { take(error: error, id: nil) }
            return
        }
        if !isInDocument { entryCount += 1 }
        do throws(WireDocumentError) {
            let document = try WireDocument(parsing: text.span)
            if isInDocument {
                group?.longestContent = try Self.longestContent(document)
                group?.document = document
            } else {
                whole.append(try HTTPPeer.fetched(document))
            }
        } catch {
            // What follows of this one may have no end.
            if isInDocument { throw error }
        }
    }

    // MARK: - Entries

    /// Takes an entry of a JSON answer: `{"id": …, "docs": [{"ok": document}, {"error": …}]}`.
    mutating func take(entry text: [UInt8]) {
        entryCount += 1
        byteCount += text.count
        guard let entry = try? PackedValue(parsing: text) else { return }
        let id = entry["id"]?.string
        entry["docs"]?.forEachElement { found in
            if let document = found["ok"].flatMap({ try? HTTPPeer.fetched(WireDocument($0)) }) {
                whole.append(document)
            } else if let error = found["error"] {
                take(error: error, id: id)
            }
        }
    }

    /// Takes what the source says in place of a document.
    private mutating func take(error: PackedValue, id: String?) {
        guard let id = (error["id"]?.string ?? id).flatMap({ try? DocumentID(validating: $0) }),
            let revision = error["rev"]?.string.flatMap({ try? RevisionID(validating: $0) })
        else { return }
        let name = error["error"]?.string ?? ""
        let isGone = name == "not_found" || name == "missing"
        let failure = ReplicationError(
            ofDocument: id, error: name, reason: error["reason"]?.string,
            status: error["status"]?.int64)
        whole.append(
            FetchedRevision(id: id, revision: revision, isGone ? .gone : .failed(failure)))
    }

    private static func inflated(_ text: [UInt8], hold: (Int) async -> Void) async throws
        -> [UInt8]
    {
        let inflater = GzipInflater()
        inflater.push(text)
        var plain: [UInt8] = []
        do {
            while let piece = try inflater.next() {
                await hold(text.count + plain.count)
                plain += piece
                guard plain.count <= jsonLimit else { throw GzipInflater.Failure.tooLarge }
            }
            try inflater.finish()
        } catch {
            throw ReplicationError(
                .invalidAnswer, "A document in a multipart answer cannot be decoded: \(error)",
                isTransient: true)
        }
        return plain
    }

    /// The longest of the contents that follow, coded or not.
    ///
    /// - Throws: `WireDocumentError` where one has no length: content without an end would fill the disk.
    private static func longestContent(_ document: WireDocument) throws(WireDocumentError) -> Int {
        let stubs = document.body["_attachments"]
        var longest = 0
        for name in document.followingNames {
            guard let length = stubs?[name]?["length"]?.int64, length >= 0 else {
                throw .attachments(document.id, "follow without saying how long they are")
            }
            let coded = stubs?[name]?["encoded_length"]?.int64 ?? 0
            longest = max(longest, Int(clamping: length), Int(clamping: coded))
        }
        return longest
    }

    // MARK: - Matching

    private static func assembled(_ group: Group) -> WireDocument? {
        guard var document = group.document else { return nil }
        var open = OpenAttachments(of: document)
        for (headers, content) in group.contents {
            let disposition = HeaderParameters(headers["Content-Disposition"] ?? "")
            guard let name = open.take(disposition["filename"], content.spooledDigests) else {
                continue
            }
            document.inlineContents[name] = content
        }
        return document
    }
}
