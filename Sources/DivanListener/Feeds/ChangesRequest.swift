// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import DivanQuery
internal import DivanReplication

/// What a request for `_changes` asks.
struct ChangesRequest: Sendable {
    /// How the feed goes on when it has told everything.
    enum Mode: String, Sendable {
        case normal, longpoll, continuous, eventsource

        /// Reads `feed`; `live` is another word for `continuous`.
        ///
        /// - Throws: `HTTPFailure` 400 for one that is unknown: a client of it would ask again and again.
        init(_ text: String?) throws {
            switch text {
            case nil: self = .normal
            case "live": self = .continuous
            case let text?:
                guard let mode = Mode(rawValue: text) else {
                    throw HTTPFailure.badRequest(
                        "Supported `feed` types: normal, continuous, live, longpoll, eventsource")
                }
                self = mode
            }
        }
    }

    /// Where it begins.
    enum Start: Sendable, Equatable {
        case after(SequenceNumber)
        case now
    }

    /// The timeout when a client gives neither one nor a heartbeat; CouchDB's default and maximum.
    static let defaultTimeout = Duration.seconds(60)
    /// Heartbeats are not sent more often: each wakes a thread for each client.
    static let shortestHeartbeat = Duration.milliseconds(250)

    var mode = Mode.normal
    var start = Start.after(0)
    var limit: Int?
    var descending = false
    var allLeaves = false
    var activeOnly = false
    var includeDocuments = false
    var format = DocumentFormat()
    var heartbeat: Duration?
    var timeout: Duration?
    var filter: ChangesFilter

    init(_ call: Call) throws {
        var query = call.query
        let body = try Self.body(call)
        // Couchbase Lite sends its parameters in the body, too.
        for (key, value) in body where query[key] == nil && !["doc_ids", "selector"].contains(key) {
            query[key] = value.string ?? value.description
        }
        mode = try Mode(query["feed"])
        let since = call.headers["Last-Event-ID"] ?? query["last-event-id"] ?? query["since"]
        start = try Self.start(since, call)
        limit = try query.count("limit")
        descending = try query.flag("descending")
        allLeaves = try query.choice("style", ["main_only", "all_docs"]) == "all_docs"
        activeOnly = try query.flag("active_only")
        includeDocuments = try query.flag("include_docs")
        format.conflicts = try query.flag("conflicts")
        if try query.flag("attachments") { format.attachments = .inline }
        format.showsEncoding = try query.flag("att_encoding_info")
        (heartbeat, timeout) = try Self.times(query)
        filter = try ChangesFilter(query, body, call)
    }

    private static func body(_ call: Call) throws -> JSONObject {
        guard call.request.head.method == "POST", call.request.body.length > 0 else { return [:] }
        return try call.objectBody()
    }

    /// Reads `since`: `now`, a time, or what this or another server gave as a sequence.
    private static func start(_ text: String?, _ call: Call) throws -> Start {
        guard let text, !text.isEmpty else { return .after(0) }
        if text == "now" || text == "\"now\"" { return .now }
        if isTime(text) {
            guard let time = HTTPDate.seconds(iso: text) else { throw malformedStart }
            if time > AccountsFile.now { return .now }
            return .after(try call.site.times.bins(of: call.database).sequence(at: time))
        }
        switch try call.sequences.read(text) {
        case .number(let number): return .after(number)
        case .foreign: return .after(0)
        case .malformed: throw malformedStart
        }
    }

    private static let malformedStart = HTTPFailure.badRequest(
        "Malformed sequence supplied in 'since' parameter.")

    /// Whether a text looks like `2026-11-29T15:40:00Z`: other servers' sequences, too, are a number before a minus sign.
    private static func isTime(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 20 && [4, 7].allSatisfy { bytes[$0] == UInt8(ascii: "-") }
            && bytes[10] == UInt8(ascii: "T") && bytes[19] == UInt8(ascii: "Z")
    }

    /// Heartbeat and timeout; one of both.
    static func times(_ query: QueryParameters) throws -> (Duration?, Duration?) {
        var heartbeat: Duration?
        switch query["heartbeat"] {
        case nil, "false": break
        case "true": heartbeat = defaultTimeout
        default:
            guard let milliseconds = query["heartbeat"].flatMap({ Int($0, radix: 10) }) else {
                throw HTTPFailure.badRequest(
                    "Invalid heartbeat value. Expecting a positive integer value (in milliseconds)."
                )
            }
            guard milliseconds > 0 else {
                throw HTTPFailure.badRequest(
                    "The heartbeat value should be a positive integer (in milliseconds).")
            }
            heartbeat = max(.milliseconds(milliseconds), shortestHeartbeat)
        }
        let given = try query.count("timeout").map { Duration.milliseconds($0) }
        guard heartbeat == nil else { return (heartbeat, nil) }
        return (nil, min(given ?? defaultTimeout, defaultTimeout))
    }
}

/// Which changes a feed tells of.
enum ChangesFilter: Sendable {
    case all
    case documentIDs(Set<DocumentID>)
    case designDocuments
    case selector(DocumentSelector)
    case function(FilterFunction, JSONObject, named: String)
    /// Documents that a view has rows of.
    case view(DatabaseView)

    init(_ query: QueryParameters, _ body: JSONObject, _ call: Call) throws {
        switch query["filter"] {
        case nil, "":
            // Without a filter's name CouchDB passes over `doc_ids`; so do we.
            self = .all
        case "_doc_ids":
            guard let list = try body["doc_ids"] ?? query.json("doc_ids") else {
                throw HTTPFailure.badRequest("`doc_ids` filter parameter is missing.")
            }
            let ids = try DocumentFormat.texts(list, "doc_ids", of: "document IDs")
            self = .documentIDs(Set(ids.map { DocumentID($0) }))
        case "_design": self = .designDocuments
        case "_selector":
            guard let json = body["selector"] else {
                throw HTTPFailure.badRequest("Selector must be specified in POST payload")
            }
            do { self = .selector(try DocumentSelector(json: json)) } catch let error
                as DatabaseError where error.code == .invalidQuery
            { throw HTTPFailure.badRequest(error.message) }
        case "_view":
            let names = DesignItem.parts(query["view"] ?? "")
            guard names.count == 2 else {
                throw HTTPFailure.badRequest("`view` filter parameter is not provided.")
            }
            self = .view(try call.view(names[0], names[1]))
        case let name?:
            let function = try call.filter(name)
            var parameters: JSONObject = body
            for (key, value) in query.items { parameters[key] = .string(value) }
            // Another Divan says which of its values are no texts.
            FilterParameters.restoreTypes(
                of: &parameters, naming: call.headers[FilterParameters.typedField])
            self = .function(function, parameters, named: name)
        }
    }

    /// Whether the document itself is needed to decide, which may then fail.
    var needsDocument: Bool {
        switch self {
        case .selector, .function, .view: true
        case .all, .documentIDs, .designDocuments: false
        }
    }

    /// Whether the app's own code decides.
    var isFunction: Bool { functionName != nil }

    /// What the app's own code that decides is called; nil where none does.
    var functionName: String? {
        switch self {
        case .function(_, _, let name): name
        case .view(let view): "_view/\(view.name)"
        case .all, .documentIDs, .designDocuments, .selector: nil
        }
    }

    func passes(_ change: Change) -> Bool {
        switch self {
        case .documentIDs(let ids): ids.contains(change.id)
        case .designDocuments: change.id.isDesign
        case .all, .selector, .function, .view: true
        }
    }

    /// Whether a document passes.
    ///
    /// - Throws: What the app's code throws; `DatabaseError` with code `.invalidQuery` where a selector cannot tell.
    func passes(_ document: Document) throws -> Bool {
        switch self {
        case .selector(let selector):
            guard let isWanted = selector.truth(of: document) else {
                throw DatabaseError.undecided(document.id)
            }
            return isWanted
        case .function(let function, let parameters, _): return try function(document, parameters)
        case .view(let view): return try view.emits(for: document)
        case .all, .documentIDs, .designDocuments: return true
        }
    }
}
