// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
public import DivanJSON

/// Which pages of other origins may use a listener from a browser: CouchDB's options.
public struct ListenerCORS: Sendable {
    /// The origins, such as `https://app.example.org`; `*` for all.
    public var origins: NameSet = []
    /// Whether their pages may act in the name of the user at the browser: answers then name the page's own origin,
    /// and cookies count that the browser sends.
    ///
    /// PouchDB in a browser asks for this with every request. With `*` among the origins, any page that a user opens can
    /// do what that user may while a session lasts; name the origins instead where you know them.
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
    public init(origins: NameSet = []) { self.origins = origins }

    /// Whether the pages of an origin may read answers.
    func allows(_ origin: String) -> Bool { origins.contains(origin) || origins.contains("*") }
}

/// Answers browsers that ask, and marks answers for them.
struct CORS: Sendable {
    let configuration: Configuration

    private var options: ListenerCORS? { configuration.settings.cors }

    private static let exposed =
        "content-type, cache-control, accept-ranges, etag, server, location, "
        + "x-couch-request-id, x-couch-update-newrev, x-couchdb-body-time"

    /// Whether the pages of an origin may read answers.
    func allows(_ origin: String) -> Bool {
        options?.allows(origin) ?? false
    }

    /// Whether the pages of an origin may use a listener that lets in all programs of this machine. All pages may only where
    /// the program says so: a key of the configuration may have been set while a name was asked for.
    func allowsUnnamed(_ origin: String) -> Bool {
        guard let options else { return false }
        return options.origins.contains(origin)
            || options.origins.contains("*")
                && configuration.given.cors?.origins.contains("*") ?? false
    }

    /// Whether the pages of an origin may act in the name of the user at the browser.
    func allowsCredentials(_ origin: String) -> Bool {
        guard let options else { return false }
        return options.credentials && options.allows(origin)
    }

    /// The answer to a browser that asks whether a page may make a request; nil where none of the pages that may is asked for.
    func preflight(_ head: RequestHead) -> ListenerResponse? {
        guard let options, let origin = head.headers["Origin"], options.allows(origin),
            head.headers["Access-Control-Request-Method"].map(options.methods.contains) ?? false
        else { return nil }
        var response = ListenerResponse(status: 204)
        response.headers["Access-Control-Allow-Methods"] = options.methods.joined(separator: ", ")
        response.headers["Access-Control-Allow-Headers"] = options.headers.joined(separator: ", ")
        response.headers["Access-Control-Max-Age"] = "\(options.maxAge)"
        return response
    }

    /// Adds what a browser needs to show an answer to the page.
    func mark(_ response: inout ListenerResponse, _ head: RequestHead) {
        guard let options else { return }
        response.headers.add("Vary", "Origin")
        guard let origin = head.headers["Origin"], options.allows(origin) else { return }
        let isAny = options.origins.contains("*") && !options.credentials
        response.headers["Access-Control-Allow-Origin"] = isAny ? "*" : origin
        response.headers["Access-Control-Expose-Headers"] = Self.exposed
        if options.credentials { response.headers["Access-Control-Allow-Credentials"] = "true" }
    }
}
