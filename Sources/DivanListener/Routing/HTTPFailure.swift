// SPDX-License-Identifier: Apache-2.0

/// A refusal in the words of the wire: a status, an error name that programs compare, and a reason
/// for people.
package struct HTTPFailure: Error, Sendable, Equatable {
    /// The HTTP status.
    package var status: Int
    /// CouchDB's name for the kind of error.
    package var error: String
    /// What is wrong.
    package var reason: String
    /// Header fields that go with it.
    package var headers: [String: String] = [:]

    /// Makes a refusal.
    package init(_ status: Int, _ error: String, _ reason: String, headers: [String: String] = [:])
    {
        self.status = status
        self.error = error
        self.reason = reason
        self.headers = headers
    }
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
    static var noDatabase: HTTPFailure { notFound("Database does not exist.") }
    static var conflict: HTTPFailure { HTTPFailure(409, "conflict", "Document update conflict.") }
    static var invalidJSON: HTTPFailure { badRequest("invalid UTF-8 JSON") }
    static var notAnObject: HTTPFailure { badRequest("Request body must be a JSON object") }
    static var bodyTooLarge: HTTPFailure {
        HTTPFailure(413, "too_large", "the request entity is too large")
    }
    static func attachmentTooLarge(_ name: String) -> HTTPFailure {
        HTTPFailure(
            413, "attachment_too_large", "The attachment '\(name.prefix(200))' is too large.")
    }
    static var databaseExists: HTTPFailure {
        HTTPFailure(
            412, "file_exists", "The database could not be created, the file already exists.")
    }
    static var readOnly: HTTPFailure { forbidden("This listener is read-only.") }
}
