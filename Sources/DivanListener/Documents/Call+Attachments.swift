// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// GET, PUT and DELETE of an attachment.
extension Call {
    /// `GET /{db}/{doc}/{attachment}`
    func getAttachment() throws -> ListenerResponse {
        let (document, _) = try find(documentID, queriedRevision())
        guard let attachment = document.attachment(named: name(1)) else {
            throw HTTPFailure.notFound("Document is missing attachment")
        }
        let md5 = try? attachment.knownMD5()
        let tag = Self.base64(in: wantsStoredDigests ? attachment.digest : md5 ?? attachment.digest)
        let isCoded = attachment.encoding == "gzip" && ContentCoding.takesGzip(headers)
        var response = ListenerResponse(status: 200)
        response.headers["ETag"] = "\"\(tag)\""
        response.headers["Cache-Control"] = "must-revalidate"
        if Self.matches(headers["If-None-Match"], "\"\(tag)\"") {
            response.status = 304
            return response
        }
        let type = attachment.contentType ?? "application/octet-stream"
        response.headers["Content-Type"] = type
        // What a browser would run must not act in the listener's name.
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Content-Security-Policy"] = "sandbox"
        if Self.isActive(type) {
            response.headers["Content-Disposition"] = "attachment"
        }
        response.headers["Accept-Ranges"] = isCoded ? "none" : "bytes"
        if isCoded || attachment.encoding == nil {
            // Of what is stored, which is what is sent: the whole of it, also with a range.
            if attachment.digest.hasBytePrefix("sha1-") {
                response.headers["Digest"] = "SHA=\(Self.base64(in: attachment.digest))"
            }
            response.headers["Content-MD5"] = md5.map(Self.base64)
        }
        if isCoded {
            response.headers["Content-Encoding"] = "gzip"
            response.body = ReaderSteps.body(length: attachment.encodedLength) {
                try attachment.makeStoredReader()
            }
            return response
        }
        switch ByteRange.parse(wantedRange(of: "\"\(tag)\""), length: attachment.length) {
        case .whole:
            response.body = ReaderSteps.body(length: attachment.length) {
                try attachment.makeReader()
            }
        case .part(let range):
            response.status = 206
            // It is of the whole.
            response.headers["Content-MD5"] = nil
            response.headers["Content-Range"] =
                "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(attachment.length)"
            response.body = ReaderSteps.body(length: range.count) {
                try attachment.makeReader(in: range)
            }
        case .parts(let ranges):
            AttachmentRanges(attachment, ranges).fill(&response)
        case .unsatisfiable:
            throw HTTPFailure(
                416, "requested_range_not_satisfiable", "Requested range not satisfiable",
                headers: ["Content-Range": "bytes */\(attachment.length)"])
        }
        guard attachment.isContentAvailable else {
            throw HTTPFailure.notFound("The content of the attachment is not here.")
        }
        return response
    }

    /// The `Range` that holds; none where `If-Range` names another state of the content, or a time, which no attachment has.
    private func wantedRange(of tag: String) -> String? {
        // By strong comparison, so not as `If-None-Match` is compared: the parts are put together by the client.
        guard let condition = headers["If-Range"], !condition.hasSameBytes(as: tag) else {
            return headers["Range"]
        }
        return nil
    }

    /// A digest without its kind.
    private static func base64(in digest: String) -> String {
        String(digest.split(separator: "-", maxSplits: 1).last ?? "")
    }

    /// Whether a browser that opens content of this type may run what stands in it.
    ///
    /// By bytes, as a browser reads it: a semicolon with a mark on it ends the type, too. A control character may be a
    /// space when it is sent, browsers differ in what ends a type, and of several types they take the last. So a type
    /// anywhere in it counts.
    private static func isActive(_ contentType: String) -> Bool {
        let pieces = contentType.utf8.split { byte in
            byte <= 0x20 || byte == 0x7F || endsOfTypes.contains(byte)
        }
        return pieces.contains { piece in
            let type = String(decoding: piece, as: UTF8.self).lowercased()
            return activeTypes.contains(type)
                || type.utf8.contains(UInt8(ascii: "/")) && type.hasByteSuffix("+xml")
        }
    }

    private static let activeTypes: NameSet = ["text/html", "text/xml", "application/xml"]
    private static let endsOfTypes = Array(";,(".utf8)

    /// `PUT /{db}/{doc}/{attachment}`
    func putAttachment() throws -> ListenerResponse {
        let id = documentID
        try checkID(id)
        guard request.body.length <= site.configuration.settings.longestAttachment else {
            throw HTTPFailure.attachmentTooLarge(name(1))
        }
        let base = try baseRevision(nil)
        var content = AttachmentContent.stream(request.body.reader())
        var entry: JSONObject = [
            "content_type": .string(headers["Content-Type"] ?? "application/octet-stream"),
            "follows": true,
        ]
        switch headers["Content-Encoding"]?.lowercased() {
        case nil, "", "identity": break
        case "gzip":
            entry["encoding"] = "gzip"
            content = content.gzipped()
        default:
            throw HTTPFailure(
                415, "bad_content_type", "Only gzip and identity content-encodings are supported")
        }
        if let digest = headers["Content-MD5"] { entry["digest"] = .string("md5-\(digest)") }
        let existing = try base.map { try edited(id, $0) }
        return try changeAttachments(
            id, base, existing, status: 201, [name(1): content]
        ) {
            $0[name(1)] = .object(entry)
        }
        .with("Location", location(id.text, name(1)))
    }

    /// `DELETE /{db}/{doc}/{attachment}`
    func deleteAttachment() throws -> ListenerResponse {
        let id = documentID
        try checkID(id)
        guard let base = try baseRevision(nil) else { throw HTTPFailure.conflict }
        let existing = try edited(id, base)
        guard existing.attachment(named: name(1)) != nil else {
            throw HTTPFailure.notFound("Document is missing attachment")
        }
        return try changeAttachments(id, base, existing, status: 200, [:]) { $0[name(1)] = nil }
    }

    /// The revision whose attachments change: who names one that is not here is behind.
    func edited(_ id: DocumentID, _ revision: RevisionID) throws -> Document {
        do {
            if let found = try database.document(withID: id, revision: revision) { return found }
        } catch let error as DatabaseError where error.code == .revisionNotFound {}
        // CouchDB's answer: the status of a conflict, the name of what is missing.
        throw HTTPFailure(409, "not_found", "missing_rev")
    }

    private func changeAttachments(
        _ id: DocumentID, _ base: RevisionID?, _ existing: Document?, status: Int,
        _ contents: NameMap<AttachmentContent>, _ edit: (inout JSONObject) -> Void
    ) throws -> ListenerResponse {
        let body = existing?.body ?? PackedValue([:])
        var entries = body["_attachments"]?.jsonValue().object ?? [:]
        edit(&entries)
        let change: JSONValue? = entries.isEmpty ? JSONValue?.none : .some(.object(entries))
        let edited = try permitted(
            id, ReceivedDocument(body.replacing(["_attachments": change])), .edit(of: base))
        let saved = try Self.naming(id) {
            try database.put(
                id, body: edited.body, parent: base, isDeleted: false, attachments: contents)
        }
        return written(id, saved.revisionID, status: status)
    }
}

/// The bytes that a `Range` header asks for.
enum ByteRange: Equatable {
    case whole
    case part(Range<Int>)
    case parts([Range<Int>])
    case unsatisfiable

    /// More ranges than these at once, or such as are longer than all together, count for nothing.
    private static let mostParts = 9

    /// Reads a header. Other units, malformed ranges and too many of them count for nothing, as the standard allows.
    static func parse(_ header: String?, length: Int) -> ByteRange {
        guard let text = header?.afterBytePrefix("bytes=") else { return .whole }
        let items = text.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        guard items.count > 1 else { return one(items.first ?? "", length: length) }
        guard items.count <= mostParts else { return .whole }
        var ranges: [Range<Int>] = []
        for item in items {
            switch one(item, length: length) {
            case .part(let range): ranges.append(range)
            case .unsatisfiable: continue
            case .whole, .parts: return .whole
            }
        }
        switch ranges.count {
        case 0: return .unsatisfiable
        case 1: return .part(ranges[0])
        default: return ranges.reduce(0) { $0 + $1.count } > length ? .whole : .parts(ranges)
        }
    }

    private static func one(_ text: String, length: Int) -> ByteRange {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return .whole }
        switch (Int(parts[0], radix: 10), Int(parts[1], radix: 10)) {
        case (let start?, let end?):
            guard start < length, end >= start else { return .unsatisfiable }
            return .part(start..<(end < length ? end + 1 : length))
        // All of it is no part, as in CouchDB.
        case (0, nil) where parts[1].isEmpty: return .whole
        case (let start?, nil) where parts[1].isEmpty:
            return start < length ? .part(start..<length) : .unsatisfiable
        case (nil, let count?) where parts[0].isEmpty:
            guard count > 0, length > 0 else { return .unsatisfiable }
            return .part(max(0, length - count)..<length)
        default: return .whole
        }
    }
}

/// Sends what a reader gives; the reader is opened when the first piece is wanted.
struct ReaderSteps: ResponseSteps {
    private let open: @Sendable () throws -> any AttachmentReader
    private var reader: (any AttachmentReader)?

    init(_ open: @escaping @Sendable () throws -> any AttachmentReader) { self.open = open }

    mutating func next() throws -> Production {
        let reader = try self.reader ?? open()
        self.reader = reader
        let piece = try reader.read(upTo: 256 * 1_024)
        return piece.isEmpty ? .end : .bytes(piece)
    }

    /// A body of so many bytes.
    static func body(
        length: Int?, _ open: @escaping @Sendable () throws -> any AttachmentReader
    ) -> ListenerResponse.Body {
        .stream(SteppedProducer(ReaderSteps(open)), length: length)
    }
}
