// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import DivanReplication
internal import DivanSystem

/// The one table from Divan's errors to the wire's.
///
/// What the reason tells is for the client; where an error's own sentence names paths or files, a
/// sentence of the wire stands in for it and the log has the rest.
enum ErrorResponse {
    /// The refusal that an error becomes.
    static func failure(for error: any Error) -> HTTPFailure {
        switch error {
        case let failure as HTTPFailure: failure
        case let error as DatabaseError: failure(for: error)
        case let error as ScriptError: .script(error)
        case let error as IDFailure: .invalidID(error)
        case let failure as JSONParser.Failure: .json(failure)
        case is CancellationError: HTTPFailure(503, "cancelled", "The request was cancelled.")
        default: HTTPFailure(500, "internal_server_error", "The request failed.")
        }
    }

    /// The refusal that an error of the database becomes.
    static func failure(for error: DatabaseError) -> HTTPFailure {
        switch error.code {
        case .conflict: .conflict
        case .documentNotFound: .missing
        case .revisionNotFound: .missing
        case .attachmentNotFound: .notFound("Document is missing attachment")
        case .invalidDocument where error.underlying is DocumentTooLarge:
            HTTPFailure(413, "document_too_large", error.message).ofDocument
        case .invalidDocument:
            (error.underlying as? NoBase64).map { .attachmentData($0.name) }
                ?? .invalidDocument(error.message)
        case .invalidID: invalidID(error)
        case .invalidName: HTTPFailure(400, "illegal_database_name", error.message)
        case .invalidQuery: HTTPFailure(400, "query_parse_error", error.message)
        case .forbidden:
            (error.underlying as? ScriptError).map { .script($0) } ?? .forbidden(error.message)
        case .scriptFailed:
            (error.underlying as? ScriptError).map { .script($0) }
                ?? HTTPFailure(500, "os_process_error", error.message)
        case .unauthorized: HTTPFailure(401, "unauthorized", "The database needs another key.")
        case .databaseNotFound: .noDatabase
        case .databaseExists: .databaseExists
        case .databaseClosed: HTTPFailure(503, "service_unavailable", "The database was closed.")
        case .databaseBusy: HTTPFailure(503, "service_unavailable", "The database is busy.")
        case .databaseSuspended:
            HTTPFailure(503, "service_unavailable", "The database is suspended.")
        case .readOnly: .forbidden("The database is read-only.")
        case .storageFull: HTTPFailure(507, "insufficient_storage", "The disk is full.")
        case .corrupted: HTTPFailure(500, "internal_server_error", "Stored data is damaged.")
        case .unsupportedVersion:
            HTTPFailure(
                500, "internal_server_error", "The database was written by a newer release.")
        case .unsupportedStorageEngine:
            HTTPFailure(
                500, "internal_server_error", "The database is kept by an engine that is not here.")
        // A database takes seven.
        case .io where !Descriptors.areFree(8): .tooManyFiles
        case .io: HTTPFailure(500, "internal_server_error", "The system could not read or write.")
        case .cancelled: HTTPFailure(503, "cancelled", "The work was cancelled.")
        }
    }

    /// The refusal of an ID that no document has, or of one that no revision has.
    private static func invalidID(_ error: DatabaseError) -> HTTPFailure {
        switch error.underlying as? IDFailure {
        case nil: .illegalID(error.message)
        case .emptyDocumentID?, .documentIDTooLong?, .documentIDContainsNUL?, .reservedDocumentID?,
            .noPartition?, .emptyPartition?, .reservedPartition?, .partitionContainsColon?:
            (error.underlying as? IDFailure).map { .invalidID($0) } ?? .illegalID(error.message)
        // One that was made elsewhere is told what is wrong with it: CouchDB has one sentence for all.
        case .malformedRevisionID, .generationOutOfRange, .digestLengthOutOfRange, .brokenHistory:
            .badRequest(error.message).ofDocument
        }
    }

    /// What a client is told of an error of a replication: a database's own sentence may name paths.
    static func reason(for error: ReplicationError) -> String {
        guard let below = error.underlying as? DatabaseError, error.code == .database,
            below.code != .databaseClosed
        else { return error.message }
        return failure(for: below).reason
    }

    /// The answer that tells of a refusal.
    static func response(to failure: HTTPFailure) -> ListenerResponse {
        var response = ListenerResponse.json(
            .object(object(of: failure)), status: failure.status)
        for (name, value) in failure.headers { response.headers[name] = value }
        return response
    }

    /// The answer to a request that failed; what went wrong here, and not with the client, is logged.
    static func response(to error: any Error, of call: String) -> ListenerResponse {
        let failure = failure(for: error)
        if failure.status >= 500, !(error is HTTPFailure), !(error is CancellationError) {
            Log.listener.error("\(call) failed: \(Log.words(of: error))")
        }
        return response(to: failure)
    }

    /// What is told of a document of several that cannot be sent; what went wrong here, and not with the client, is
    /// logged.
    static func told(_ error: any Error, of id: DocumentID) -> HTTPFailure {
        told(error, ofOmitted: "document '\(id.text.prefix(200))'")
    }

    /// The same of a database of several that cannot be opened or read.
    static func told(_ error: any Error, ofDatabase name: String) -> HTTPFailure {
        told(error, ofOmitted: "database '\(name)'")
    }

    private static func told(_ error: any Error, ofOmitted item: String) -> HTTPFailure {
        let failure = failure(for: error)
        if failure.status >= 500, !(error is HTTPFailure) {
            Log.listener.error("The \(item) was left out of an answer: \(Log.words(of: error))")
        }
        return failure
    }

    /// `error` and `reason` as properties, for lists in which single items fail.
    static func object(of failure: HTTPFailure) -> JSONObject {
        ["error": .string(failure.error), "reason": .string(failure.reason)]
    }
}

extension HTTPFailure {
    /// The refusal that an error of a script becomes: its own name and reason, and the status that CouchDB gives to the name.
    static func script(_ error: ScriptError) -> HTTPFailure {
        let known: NameMap<Int> = [
            "not_found": 404, "forbidden": 403, "unauthorized": 401, "bad_request": 400,
            "query_parse_error": 400, "doc_validation": 400, "illegal_docid": 400,
            "method_not_allowed": 405, "not_acceptable": 406, "conflict": 409, "gone": 410,
            "missing_stub": 412, "bad_content_type": 415, "bad_ctype": 415,
            "expectation_failed": 417, "service_unavailable": 503, "insufficient_storage": 507,
        ]
        if error.code == .unavailable, error.name != "unknown_query_language" {
            return .notImplemented(error.reason)
        }
        if error.name == "conflict" { return .conflict }
        return HTTPFailure(known[error.name] ?? 500, error.name, error.reason)
    }

    /// The answer where the process may open no more files. Connections and databases have them.
    fileprivate static let tooManyFiles = HTTPFailure(
        503, "too_many_open_files",
        "The server has too many files open; try again in some seconds, or let it have more.",
        headers: ["Retry-After": "5"])
}
