// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// One line of a `_bulk_get`: a document, perhaps one revision of it, and what the client has.
private struct BulkGetItem: Sendable {
    var id: String
    var revision: String?
    var known: [String]

    init(_ value: JSONValue) throws {
        guard let id = value["id"]?.string else {
            throw HTTPFailure.badRequest("Each of `docs` needs an `id`.")
        }
        self.id = id
        revision = value["rev"]?.string
        known = try value["atts_since"].map { try DocumentFormat.revisions($0, "atts_since") } ?? []
    }
}

extension Call {
    /// `POST /{db}/_bulk_get`, in JSON or, for clients that take nothing else, in parts
    func bulkGet() throws -> ListenerResponse {
        guard let list = try objectBody()["docs"] else {
            throw HTTPFailure.badRequest("Missing JSON list of 'docs'.")
        }
        guard let values = list.array else {
            throw HTTPFailure.badRequest("'docs' must be an array.")
        }
        let items = try values.map(BulkGetItem.init)
        let format = try DocumentFormat(query)
        if accepts("application/json") { return try bulkGetJSON(items, format) }
        let kind = accepts("multipart/mixed") ? "mixed" : "related"
        return try bulkGetParts(items, format, kind)
    }

    private func bulkGetJSON(_ items: [BulkGetItem], _ format: DocumentFormat) throws
        -> ListenerResponse
    {
        .json(
            steps: BulkGetListing(
                call: self, items: items, format: format, latest: try query.flag("latest"),
                database: try database))
    }

    fileprivate func append(
        _ item: BulkGetItem, _ format: DocumentFormat, _ latest: Bool, _ database: Database,
        to text: inout JSONText
    ) throws {
        text.raw("{\"id\":")
        text.string(item.id)
        text.raw(",\"docs\":[")
        switch answers(item, latest, database) {
        case .failure(let failure):
            Self.append(failure, item, item.revision ?? "undefined", to: &text)
        case .success(let answers):
            var format = format
            if !item.known.isEmpty { format.knownRevisions = item.known }
            for (index, answer) in answers.enumerated() {
                if index > 0 { text.bytes.append(JSONByte.comma) }
                switch answer {
                case .missing(let revision): Self.append(.missing, item, revision, to: &text)
                case .found(let document, let tree):
                    guard mayRead(document) else {
                        let failure = HTTPFailure.forbidden("You may not read this document.")
                        Self.append(failure, item, document.revisionID, to: &text)
                        continue
                    }
                    if let failure = format.missingContent(of: document, tree) {
                        Self.append(failure, item, document.revisionID, to: &text)
                        continue
                    }
                    text.raw("{\"ok\":")
                    try format.append(document, tree, to: &text)
                    text.bytes.append(JSONByte.closeBrace)
                }
            }
        }
        text.raw("]}")
    }

    private func answers(_ item: BulkGetItem, _ latest: Bool, _ database: Database)
        -> Result<[RevisionAnswer], HTTPFailure>
    {
        do {
            let revisions = try item.revision.map { [try Self.checked($0)] }
            try Self.checkID(item.id)
            return .success(
                try database.read { transaction in
                    try Self.answers(item.id, revisions, latest: latest, transaction)
                })
        } catch { return .failure(ErrorResponse.failure(for: error)) }
    }

    private static func append(
        _ failure: HTTPFailure, _ item: BulkGetItem, _ revision: String, to text: inout JSONText
    ) {
        var object: JSONObject = ["id": .string(item.id), "rev": .string(revision)]
        for (key, value) in ErrorResponse.object(of: failure) { object[key] = value }
        text.value(["error": .object(object)])
    }

    /// One part for each revision, as Sync Gateway and old CouchDB clients like it.
    private func bulkGetParts(_ items: [BulkGetItem], _ format: DocumentFormat, _ kind: String)
        throws -> ListenerResponse
    {
        let latest = try query.flag("latest")
        var writer = MultipartWriter(subtype: kind)
        var parts = DocumentParts()
        for item in items {
            var format = format
            if format.attachments == .inline { format.attachments = .following }
            if !item.known.isEmpty { format.knownRevisions = item.known }
            let answers: [RevisionAnswer]
            switch self.answers(item, latest, try database) {
            case .success(let found): answers = found
            case .failure: answers = [.missing(item.revision ?? "undefined")]
            }
            for answer in answers {
                var answer = answer
                if case .found(let document, let tree) = answer {
                    guard mayRead(document) else { continue }
                    if format.missingContent(of: document, tree) != nil {
                        answer = .missing(document.revisionID)
                    }
                }
                try Self.append(
                    answer, ["X-Doc-ID": PercentEncoding.encode(item.id)], format, to: &parts,
                    by: &writer)
            }
        }
        parts.append(writer.end())
        return parts.response(writer)
    }
}

/// Writes the answer a few documents at a time, so that a request for many takes little memory.
private struct BulkGetListing: ResponseSteps {
    private static let stepSize = 64
    let call: Call
    let items: [BulkGetItem]
    let format: DocumentFormat
    let latest: Bool
    let database: Database
    private var position = 0
    private var isDone = false

    init(
        call: Call, items: [BulkGetItem], format: DocumentFormat, latest: Bool, database: Database
    ) {
        self.call = call
        self.items = items
        self.format = format
        self.latest = latest
        self.database = database
    }

    mutating func next() throws -> Production {
        guard !isDone else { return .end }
        var text = JSONText()
        if position == 0 { text.raw("{\"results\":[") }
        let end = min(items.count, position + Self.stepSize)
        for index in position..<end {
            if index > 0 { text.bytes.append(JSONByte.comma) }
            try call.append(items[index], format, latest, database, to: &text)
        }
        position = end
        isDone = end == items.count
        if isDone { text.raw("]}\n") }
        return .bytes(text.bytes)
    }
}
