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
    /// - Throws: `HTTPFailure` 401 when it has no name or no password.
    init(_ object: JSONObject) throws {
        var fields = QueryParameters()
        for key in Self.names { fields[key] = object[key]?.string }
        try self.init(fields)
    }

    /// Reads a form.
    ///
    /// - Throws: `HTTPFailure` 401 when it has no name or no password, or another one when it is no form.
    init(form: [UInt8]) throws { try self.init(QueryParameters(form[...])) }

    private init(_ fields: QueryParameters) throws {
        guard let name = fields["name"] ?? fields["username"], let password = fields["password"]
        else { throw HTTPFailure.unauthorized("Name or password is incorrect.") }
        (self.name, self.password) = (name, password)
    }

    /// Whether a body is an object of JSON, and not a form.
    static func isObject(_ headers: HTTPHeaders) -> Bool {
        headers["Content-Type"]?.hasBytePrefix("application/json") ?? false
    }
}
