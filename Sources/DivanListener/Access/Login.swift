// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// What the body of `POST /_session` says: a form, or an object of JSON.
struct Login: Sendable {
    @ByBytes var name: String
    @ByBytes var password: String

    private static let names = ["name", "username", "password"]

    /// Reads an object.
    ///
    /// - Throws: `HTTPFailure` 400 when it has no name, or two.
    init(_ object: JSONObject) throws {
        var fields = QueryParameters()
        for key in Self.names { fields[key] = object[key]?.string }
        try self.init(fields)
    }

    /// Reads a form.
    ///
    /// - Throws: `HTTPFailure` 400 when it has no name, or two, or is no form.
    init(form: [UInt8]) throws { try self.init(QueryParameters(form[...])) }

    private init(_ fields: QueryParameters) throws {
        guard let name = fields["username"] ?? fields["name"] else {
            throw HTTPFailure.badRequest("request body must contain a username")
        }
        guard name.hasSameBytes(as: fields["name"] ?? name) else {
            throw HTTPFailure.badRequest("request body contains different usernames")
        }
        // Without one it is wrong.
        (self.name, self.password) = (name, fields["password"] ?? "")
    }

    /// Whether a body is an object of JSON, and not a form.
    static func isObject(_ headers: HTTPHeaders) -> Bool {
        headers["Content-Type"]?.hasBytePrefix("application/json") ?? false
    }

    /// Refuses a body that says that it is neither.
    ///
    /// - Throws: `HTTPFailure` 415.
    static func checkType(_ headers: HTTPHeaders) throws {
        let form = "application/x-www-form-urlencoded"
        guard isObject(headers) || headers["Content-Type"]?.hasBytePrefix(form) ?? false else {
            throw HTTPFailure(
                415, "bad_content_type",
                "Content-Type must be '\(form)' or 'application/json'")
        }
    }
}
