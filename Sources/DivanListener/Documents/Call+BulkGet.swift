// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// One line of a `_bulk_get`: a document, perhaps one revision of it, and what the client has.
private struct BulkGetItem: Sendable {
    /// The ID in JSON, as it was sent; `null` for none.
    var idText: [UInt8] = Array("null".utf8)
    var id: DocumentID = ""
    var revision: RevisionID?
    var known: [RevisionID] = []
    /// Why it cannot be asked for.
    var failure: HTTPFailure?

    init(_ text: [UInt8]) throws {
        do { try read(JSONParser.parse(text)) } catch let error as JSONParser.Failure {
            let failure = HTTPFailure.json(error, "The item")
            guard failure.concernsDocument else { throw failure }
            self.failure = failure
        } catch let failure as HTTPFailure { self.failure = failure }
    }

    private mutating func read(_ value: JSONValue) throws {
        guard value.object != nil else {
            throw HTTPFailure.badRequest("Each of `docs` must be a JSON object.")
        }
        guard let id = value["id"]?.string else {
            throw HTTPFailure.badRequest("Each of `docs` needs an `id`.")
        }
        var text = JSONText()
        text.string(id)
        (self.id, idText) = (DocumentID(id), text.bytes)
        switch value["rev"] {
        case nil, .null: break
        case .string(let text): revision = Call.revision(text)
        default: throw HTTPFailure.badRequest("Invalid rev format")
        }
        known = try value["atts_since"].map { try DocumentFormat.revisions($0, "atts_since") } ?? []
    }
}

extension Call {
    /// `POST /{db}/_bulk_get`, in JSON or, for clients that take nothing else, in parts
    func bulkGet() throws -> ListenerResponse {
        let items = try bulkGetItems()
        let format = try DocumentFormat(self)
        if accepts("application/json") { return try bulkGetJSON(items, format) }
        let kind = accepts("multipart/mixed") ? "mixed" : "related"
        return try bulkGetParts(items, format, kind)
    }

    private func bulkGetItems() throws -> [BulkGetItem] {
        try reserve(try measureBody().cost(of: bodyKind))
        var items: [BulkGetItem] = []
        var isGiven = false
        let hasArray = try readObject(pieces(), array: "docs") { event, _ in
            switch event {
            case .element(let text), .longElement(let text): items.append(try BulkGetItem(text))
            case .member("docs", _): isGiven = true
            default: break
            }
        }
        guard hasArray else {
            throw HTTPFailure.badRequest(
                isGiven ? "'docs' must be an array." : "Missing JSON list of 'docs'.")
        }
        return items
    }

    private func bulkGetJSON(_ items: [BulkGetItem], _ format: DocumentFormat) throws
        -> ListenerResponse
    {
        .json(
            steps: BulkGetListing(
                call: self, items: items, format: format, latest: try query.flag("latest")))
    }

    fileprivate func append(
        _ answer: RevisionAnswer, _ format: DocumentFormat, to text: inout JSONText
    ) throws {
        switch answer {
        case .missing: throw HTTPFailure.missing
        case .unreadable(_, let failure): throw failure
        case .found(let document, let tree):
            if let failure = format.missingContent(of: document, tree) { throw failure }
            if fetchesContentsApart(format),
                document.attachments.contains(where: { !$0.isContentAvailable })
            {
                text.raw("{\"missing\":")
                text.string(document.revisionID.description)
                return text.bytes.append(JSONByte.closeBrace)
            }
            text.raw("{\"ok\":")
            try format.append(document, tree, to: &text)
            text.bytes.append(JSONByte.closeBrace)
        }
    }

    /// Whether the client says nothing of attachments but replicates, as PouchDB does: it then fetches each by itself, and
    /// would stop for good at one whose content is not here.
    private func fetchesContentsApart(_ format: DocumentFormat) -> Bool {
        format.revisions && query["attachments"] == nil
    }

    fileprivate func revisions(_ item: BulkGetItem, _ latest: Bool) throws -> WantedRevisions {
        if let failure = item.failure { throw failure }
        let revisions = try item.revision.map { [try Self.checked($0)] }
        try checkID(item.id)
        return try WantedRevisions(of: item.id, revisions, latest: latest, self)
    }

    fileprivate static func append(
        _ failure: HTTPFailure, _ item: BulkGetItem, _ revision: RevisionID?,
        to text: inout JSONText
    ) {
        text.raw("{\"error\":{\"id\":")
        text.bytes += item.idText
        text.raw(",\"rev\":")
        text.value(revision.map { .string($0.description) } ?? .null)
        for (key, value) in ErrorResponse.object(of: failure) {
            text.bytes.append(JSONByte.comma)
            text.string(key)
            text.bytes.append(UInt8(ascii: ":"))
            text.value(value)
        }
        text.raw("}}")
    }

    /// One part for each revision, as Sync Gateway and old CouchDB clients like it.
    private func bulkGetParts(_ items: [BulkGetItem], _ format: DocumentFormat, _ kind: String)
        throws -> ListenerResponse
    {
        let latest = try query.flag("latest")
        return RevisionParts(self, kind, count: items.count) { [self] index in
            let item = items[index]
            let headers: HTTPHeaders = ["X-Doc-ID": PercentEncoding.encode(item.id.text)]
            do {
                return .of(try revisions(item, latest), headers, item.format(format, inParts: true))
            } catch {
                _ = ErrorResponse.told(error, of: item.id)
                return .missing(item.revision ?? "undefined", headers)
            }
        }.response
    }
}

extension BulkGetItem {
    /// The form in which its documents are sent.
    fileprivate func format(_ format: DocumentFormat, inParts: Bool = false) -> DocumentFormat {
        var format = format
        if inParts, format.attachments == .inline { format.attachments = .following }
        if !known.isEmpty { format.knownRevisions = known }
        return format
    }
}

/// Writes the answer a few documents at a time, so that a request for many, or for one with many leaves, takes little
/// memory.
private struct BulkGetListing: ResponseSteps {
    private static let mostBytes = 256 << 10
    let call: Call
    let items: [BulkGetItem]
    let format: DocumentFormat
    let latest: Bool
    private var position = 0
    /// What is left of the item before the position.
    private var revisions: WantedRevisions?
    private var hasRevisions = false
    private var hasBegun = false
    private var isDone = false

    init(call: Call, items: [BulkGetItem], format: DocumentFormat, latest: Bool) {
        self.call = call
        self.items = items
        self.format = format
        self.latest = latest
    }

    mutating func next() throws -> Production {
        guard !isDone else { return .end }
        var text = JSONText()
        if !hasBegun { text.raw("{\"results\":[") }
        hasBegun = true
        while text.bytes.count < Self.mostBytes {
            if revisions != nil {
                appendRevision(&text)
            } else if position < items.count {
                beginItem(&text)
            } else {
                isDone = true
                text.raw("]}\n")
                break
            }
        }
        return .bytes(text.bytes)
    }

    private mutating func beginItem(_ text: inout JSONText) {
        let item = items[position]
        if position > 0 { text.bytes.append(JSONByte.comma) }
        position += 1
        text.raw("{\"id\":")
        text.bytes += item.idText
        text.raw(",\"docs\":[")
        hasRevisions = false
        do { revisions = try call.revisions(item, latest) } catch {
            let failure = ErrorResponse.told(error, of: item.id)
            // Of an ID that no document has, CouchDB tells no revision.
            let isOfID = ["illegal_docid", "illegal_partition"].contains(failure.error)
            let isAsked = item.failure == nil && !isOfID
            Call.append(
                failure, item, item.revision ?? (isAsked ? "undefined" : nil), to: &text)
            text.raw("]}")
        }
    }

    private mutating func appendRevision(_ text: inout JSONText) {
        let item = items[position - 1]
        var answer: RevisionAnswer?
        do {
            guard let found = try revisions?.next(call) else {
                revisions = nil
                return text.raw("]}")
            }
            answer = found
            if hasRevisions { text.bytes.append(JSONByte.comma) }
            hasRevisions = true
            let start = text.bytes.count
            do { try call.append(found, item.format(format), to: &text) } catch {
                text.bytes.removeSubrange(start...)
                throw error
            }
        } catch {
            // What cannot be read is one revision's; the next one is tried.
            if answer == nil {
                if hasRevisions { text.bytes.append(JSONByte.comma) }
                hasRevisions = true
            }
            Call.append(
                ErrorResponse.told(error, of: item.id), item, answer?.revision ?? item.revision,
                to: &text)
        }
    }
}
