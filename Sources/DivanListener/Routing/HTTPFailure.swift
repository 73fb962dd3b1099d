// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// A refusal in the words of the wire: a status, an error name that programs compare, and a reason
/// for people.
package struct HTTPFailure: Error, Sendable, Equatable {
    /// The HTTP status.
    package var status: Int
    /// CouchDB's name for the kind of error.
    package var error: String
    /// What is wrong.
    package var reason: String
    // Not by bytes: the names of these header fields stand in the source.
    /// Header fields that go with it.
    package var headers: [String: String] = [:]
    /// Whether it is about one document, whatever else the request asks: sent again, it is refused again.
    package var concernsDocument = false

    // Not by bytes: as above.
    /// Makes a refusal.
    package init(_ status: Int, _ error: String, _ reason: String, headers: [String: String] = [:])
    {
        self.status = status
        self.error = error
        self.reason = reason
        self.headers = headers
    }
}

extension HTTPFailure {
    /// The same refusal, about one document.
    var ofDocument: HTTPFailure {
        var failure = self
        failure.concernsDocument = true
        return failure
    }

    /// What a revision that was made elsewhere is refused with.
    ///
    /// For any other word than `forbidden` PouchDB stops at the document, and for any other status than 401, 403,
    /// 413 and 415 CouchDB's replicator does: both then send it again and again, and nothing else.
    var ofArrival: HTTPFailure { concernsDocument ? .forbidden(reason) : self }
}

// The sentences are CouchDB's where it has one, since clients compare some of them.
extension HTTPFailure {
    static func badRequest(_ reason: String) -> HTTPFailure {
        HTTPFailure(400, "bad_request", reason)
    }

    static func queryParse(_ reason: String) -> HTTPFailure {
        HTTPFailure(400, "query_parse_error", reason)
    }

    static func unauthorized(_ reason: String) -> HTTPFailure {
        HTTPFailure(401, "unauthorized", reason)
    }

    static func forbidden(_ reason: String) -> HTTPFailure {
        HTTPFailure(403, "forbidden", reason)
    }

    static func notFound(_ reason: String) -> HTTPFailure {
        HTTPFailure(404, "not_found", reason)
    }

    static func notAllowed(_ methods: [String]) -> HTTPFailure {
        HTTPFailure(
            405, "method_not_allowed", "Only \(methods.joined(separator: ",")) allowed",
            headers: ["Allow": methods.joined(separator: ", ")])
    }

    static func notImplemented(_ what: String) -> HTTPFailure {
        HTTPFailure(501, "not_implemented", what)
    }

    static var missing: HTTPFailure { notFound("missing") }
    static var deleted: HTTPFailure { notFound("deleted") }
    static var noRoute: HTTPFailure {
        notFound("Nothing is served at this path; check its spelling.")
    }
    static var noDatabase: HTTPFailure { notFound("Database does not exist.") }
    static var conflict: HTTPFailure { HTTPFailure(409, "conflict", "Document update conflict.") }
    static var notAnObject: HTTPFailure { badRequest("Request body must be a JSON object") }
    static var notADocument: HTTPFailure { badRequest("Document must be a JSON object").ofDocument }
    static var invalidRevision: HTTPFailure { badRequest("Invalid rev format") }
    static var invalidLocalID: HTTPFailure { badRequest("Invalid _local document id.") }
    static var keysNoArray: HTTPFailure { badRequest("`keys` body member must be an array.") }
    static var keysAndRange: HTTPFailure {
        queryParse("`keys` is incompatible with `key`, `start_key` and `end_key`")
    }
    static var revisionNeeded: HTTPFailure {
        badRequest(
            "When `new_edits: false`, the document needs `_rev` or `_revisions` specified")
    }
    static func invalidDocument(_ reason: String) -> HTTPFailure {
        HTTPFailure(400, "doc_validation", reason).ofDocument
    }
    static func illegalID(_ reason: String) -> HTTPFailure {
        HTTPFailure(400, "illegal_docid", reason).ofDocument
    }
    static func illegalPartition(_ reason: String) -> HTTPFailure {
        HTTPFailure(400, "illegal_partition", reason).ofDocument
    }
    static var reservedID: HTTPFailure {
        illegalID("Only reserved document ids may start with underscore.")
    }
    static func invalidID(_ failure: IDFailure) -> HTTPFailure {
        switch failure {
        case .reservedDocumentID: .reservedID
        case .emptyDocumentID: .illegalID("Document id must not be empty")
        case .noPartition: .illegalID("Doc id must be of form partition:id")
        case .emptyPartition: .illegalPartition("Partition must not be empty")
        case .reservedPartition:
            .illegalPartition("Partition must not start with an underscore")
        case .partitionContainsColon: .illegalPartition("Partition must not contain a colon")
        case .documentIDTooLong, .documentIDContainsNUL:
            .illegalID("\(failure)")
        case .malformedRevisionID, .generationOutOfRange, .digestLengthOutOfRange, .brokenHistory:
            .invalidRevision
        }
    }
    static var diskTooFull: HTTPFailure {
        HTTPFailure(507, "insufficient_storage", "database_dir is too full")
    }
    static var headTooLarge: HTTPFailure {
        HTTPFailure(431, "header_too_large", "The header of the request is too large.")
    }
    static var bodyTooLarge: HTTPFailure {
        HTTPFailure(413, "too_large", "the request entity is too large")
    }
    static var rowsTooLarge: HTTPFailure {
        HTTPFailure(
            413, "too_large",
            "The rows take more memory than there is for requests; ask for fewer with `limit` or a "
                + "range, or with fewer `keys`."
        )
    }
    static func attachmentTooLarge(_ name: String) -> HTTPFailure {
        HTTPFailure(
            413, "attachment_too_large",
            "The attachment '\(name.prefix(200))' is longer than this listener takes."
        ).ofDocument
    }
    static var databaseExists: HTTPFailure {
        HTTPFailure(
            412, "file_exists", "The database could not be created, the file already exists.")
    }
    static func missingStub(_ id: DocumentID) -> HTTPFailure {
        HTTPFailure(412, "missing_stub", "Invalid attachment stub in \(id)")
    }
    static func attachmentData(_ name: String) -> HTTPFailure {
        badRequest("Invalid attachment data for \(name.prefix(200))").ofDocument
    }
    static var readOnly: HTTPFailure { forbidden("This listener is read-only.") }
}

// Texts that are no JSON, or JSON that cannot be kept.
extension HTTPFailure {
    /// The refusal of a text that a parser does not take; `what` says what the text is, as the subject of a sentence.
    static func json(_ failure: JSONParser.Failure, _ what: String = "The body") -> HTTPFailure {
        switch failure.kind {
        case .nesting:
            badRequest(
                "\(what) nests deeper than \(JSONParser.Options().maximumDepth) levels of arrays and objects."
            ).ofDocument
        case .characters:
            badRequest(
                "\(what) has a string that is no text: at byte \(failure.offset), expected "
                    + "\(failure.expectation)."
            ).ofDocument
        default:
            badRequest(
                "invalid UTF-8 JSON: at byte \(failure.offset), expected \(failure.expectation)")
        }
    }

    /// The refusal of a text that is read piece by piece and stops to be JSON by an offset.
    static func brokenJSON(at offset: Int) -> HTTPFailure {
        badRequest("invalid UTF-8 JSON: at or before byte \(offset)")
    }
}
