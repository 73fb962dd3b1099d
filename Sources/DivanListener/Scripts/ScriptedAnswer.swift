// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// The object by which a function of a design document says how a request is answered.
///
///     {"code": 201, "headers": {"X-Colour": "red"}, "body": "text"}
///
///     code        the status, 200 to 599; unless given, that of the route
///     json        a body of JSON; it counts before the other two
///     base64      a body of any bytes, application/binary unless the header fields say otherwise
///     body        a body of text, text/html unless they do
///     headers     header fields, texts by their names
///     stop        true, which means nothing
///
/// Whatever else stands in it is refused, as CouchDB does. What a function writes is not from the listener's
/// own pages, so a browser is told to keep it in a sandbox.
struct ScriptedAnswer {
    /// The status, where the function gave one.
    private(set) var code: Int?
    /// The header fields that the function gave.
    private(set) var headers = HTTPHeaders()
    private var body: [UInt8] = []
    private var type = "application/json"

    /// An answer of which nothing is said.
    init() {}

    /// Reads an object.
    ///
    /// - Throws: `HTTPFailure` 500 for what is no answer.
    init(_ value: PackedValue) throws {
        guard value.isObject else { throw Self.failure("it is no object") }
        var json: PackedValue?
        try value.forEachProperty { name, value in
            switch name {
            case "code": code = try Self.status(value)
            case "json": json = value
            case "body":
                guard let text = value.string else { throw Self.failure("`body` is no string") }
                (body, type) = (Array(text.utf8), "text/html; charset=utf-8")
            case "base64":
                guard let bytes = value.base64Bytes else {
                    throw Self.failure("`base64` is no base64")
                }
                (body, type) = (bytes, "application/binary")
            case "headers": headers = try ScriptedHeaders.read(value)
            case "stop" where value.bool == true: break
            default: throw Self.failure("`\(name.prefix(60))` is not known")
            }
        }
        guard let json else { return }
        body = []
        json.appendJSON(to: &body)
        body.append(JSONByte.lineFeed)
        type = "application/json"
        let field = "Cache-Control"
        if headers[field] == nil { headers[field] = "must-revalidate" }
    }

    /// Reads a status; one below 200 is no answer yet.
    static func status(_ value: PackedValue) throws -> Int {
        guard let code = value.int64.flatMap(Int.init(exactly:)), (200...599).contains(code) else {
            throw failure("`code` is no status from 200 to 599")
        }
        return code
    }

    /// Makes the answer.
    ///
    /// - Parameters:
    ///   - status: The status, unless the function gave one.
    ///   - other: A body in place of the function's.
    /// - Returns: The answer.
    func response(status: Int = 200, body other: ListenerResponse.Body? = nil) -> ListenerResponse {
        var response = ListenerResponse(status: code ?? status, headers: headers)
        if headers["Content-Type"] == nil { response.headers["Content-Type"] = type }
        // Beside one that the function gave: a browser keeps to both.
        response.headers.add("Content-Security-Policy", "sandbox")
        // No page of another origin loads it as a script or a style.
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        // These have none.
        if ![204, 205, 304].contains(response.status) { response.body = other ?? .bytes(body) }
        return response
    }

    static func failure(_ reason: String) -> HTTPFailure {
        HTTPFailure(
            500, "external_response_error", "Invalid data from external server: \(reason).")
    }
}
