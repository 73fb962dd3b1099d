// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// The one table from answers to errors.
extension ReplicationError {
    /// Takes an answer that is no success.
    init(_ response: WireResponse, _ body: [UInt8], _ what: String, at name: String) {
        let answer = try? PackedValue(parsing: body)
        let words = (answer?["reason"]?.string ?? answer?["error"]?.string)?.beginning(300)
        let (code, isTransient) = Self.meaning(of: response.status)
        self.init(
            code,
            "'\(name)' answers \(what) with \(response.status): "
                + (words ?? "status \(response.status)"),
            status: response.status, isTransient: isTransient)
        quoted = words
        retryAfter = response.headers.retryAfter.map { Double($0) }
        // A refusal that says when it ends is one of a name that is locked for a while.
        if code == .forbidden, retryAfter != nil { self.isTransient = true }
    }

    /// Takes what a server says of one document among several.
    ///
    /// Servers have few names for what is wrong with a document, and any number for what has gone wrong with themselves: a
    /// CouchDB gives the name of whatever its programs ended with, such as `os_process_error`, `all_workers_died` or `enospc`.
    /// So what is no known refusal may be gone another time.
    ///
    /// - Parameters:
    ///   - id: The document.
    ///   - error: The name of the error.
    ///   - reason: The server's words.
    ///   - status: The status that the document would have had alone, where the server says it.
    init(ofDocument id: DocumentID, error: String, reason: String?, status: Int64? = nil) {
        let code: Code
        var isTransient = false
        switch error {
        case "forbidden": code = .forbidden
        case "unauthorized": code = .unauthorized
        case _ where Self.refusals.contains(error): code = .rejected
        default:
            isTransient = status.map { !(400...499).contains($0) || $0 == 408 || $0 == 429 } ?? true
            code = isTransient ? .server : .rejected
        }
        let words = (reason ?? error).beginning(300)
        self.init(
            code, "The server refuses '\(id.text.bounded)': \(words)", documentID: id,
            isTransient: isTransient)
        quoted = words
    }

    /// The names by which servers of this family refuse a document, and those of exceptions that its functions throw.
    private static let refusals: NameSet = [
        "bad_request", "bad_arg", "bad_content_type", "conflict", "doc_validation",
        "document_too_large", "attachment_too_large", "too_large", "request_entity_too_large",
        "illegal_docid", "illegal_partition", "partition_overflow", "invalid_design_doc",
        "missing_stub", "missing_content", "missing", "not_found", "not_acceptable",
        "not_implemented", "method_not_allowed", "query_parse_error", "invalid_rev",
        "Error", "EvalError", "InternalError", "RangeError", "ReferenceError", "SyntaxError",
        "TypeError", "URIError", "compilation_error", "invalid_require_path",
    ]

    /// What a status means for a replication.
    static func meaning(of status: Int) -> (code: Code, isTransient: Bool) {
        switch status {
        case 401, 407: (.unauthorized, false)
        case 403: (.forbidden, false)
        case 404, 410: (.notFound, false)
        case 408, 504: (.timeout, true)
        case 425, 429, 500...599: (.server, true)
        case 300...399: (.invalidAnswer, false)
        case 409, 412, 413, 415, 422: (.rejected, false)
        default: (.invalidAnswer, false)
        }
    }
}
