// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// Which pages of other origins may use a listener from a browser: CouchDB's options.
public struct ListenerCORS: Sendable {
    /// The origins, such as `https://app.example.org`; `*` for all.
    public var origins: Set<String> = []
    /// Whether they may send cookies and passwords. Never with `*` alone: name the origins.
    public var credentials = false
    /// The methods they may use.
    public var methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "COPY"]
    /// The header fields they may send.
    public var headers = [
        "accept", "authorization", "content-type", "origin", "referer", "x-csrf-token",
        "if-match", "if-none-match", "destination", "range", "last-event-id",
    ]
    /// How many seconds a browser may remember this.
    public var maxAge = 600

    /// Allows the pages of some origins.
    public init(origins: Set<String> = []) { self.origins = origins }
}

/// Answers browsers that ask, and marks answers for them.
struct CORS: Sendable {
    let options: ListenerCORS?

    private static let exposed =
        "content-type, cache-control, accept-ranges, etag, server, location, "
        + "x-couch-request-id, x-couch-update-newrev, x-couchdb-body-time"

    /// Whether an origin was named, or all were and it cannot act in a user's name.
    func allows(_ origin: String) -> Bool {
        guard let options else { return false }
        return options.origins.contains(origin)
            || (options.origins.contains("*") && !options.credentials)
    }

    /// The answer to `OPTIONS`.
    func preflight(_ head: RequestHead) -> ListenerResponse {
        var response = ListenerResponse(status: 204)
        guard let options, let origin = head.headers["Origin"], allows(origin),
            head.headers["Access-Control-Request-Method"].map(options.methods.contains) ?? false
        else {
            response.headers["Allow"] = ListenerCORS().methods.joined(separator: ", ")
            return response
        }
        response.headers["Access-Control-Allow-Methods"] = options.methods.joined(separator: ", ")
        response.headers["Access-Control-Allow-Headers"] = options.headers.joined(separator: ", ")
        response.headers["Access-Control-Max-Age"] = "\(options.maxAge)"
        return response
    }

    /// Adds what a browser needs to show an answer to the page.
    func mark(_ response: inout ListenerResponse, _ head: RequestHead) {
        guard let options else { return }
        response.headers.add("Vary", "Origin")
        guard let origin = head.headers["Origin"], allows(origin) else { return }
        let isAny = options.origins.contains("*") && !options.credentials
        response.headers["Access-Control-Allow-Origin"] = isAny ? "*" : origin
        response.headers["Access-Control-Expose-Headers"] = Self.exposed
        if options.credentials { response.headers["Access-Control-Allow-Credentials"] = "true" }
    }
}
