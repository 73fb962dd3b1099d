// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

/// One request on its way through a handler: what was asked, of what, by whom.
///
/// Handlers are methods of this type, grouped in files by what they serve; the route table names
/// them.
struct Call: Sendable {
    let site: Site
    var request: ListenerRequest
    let target: RequestTarget
    let resource: Resource
    var user: ListenerUser
    /// The database that the path names, for routes that need it to exist.
    var openDatabase: Database?
    /// Whether others wait for the answer, who are not to wait for long; see `checkLength`.
    var isAtOnce = false
    /// What the body is.
    var bodyKind = BodyKind.setting
    /// What the request has reserved of the listener's memory.
    let memory = RequestMemory()

    var query: QueryParameters { target.query }
    var headers: HTTPHeaders { request.head.headers }

    /// The database that the path names.
    var database: Database {
        get throws {
            guard let openDatabase else { throw HTTPFailure.noDatabase }
            return openDatabase
        }
    }

    /// The database's name.
    var databaseName: String { resource.database ?? "" }

    /// What the pattern's placeholders behind the database stand for.
    func name(_ index: Int) -> String {
        resource.names.indices.contains(index) ? resource.names[index] : ""
    }

    // MARK: - Calls that others wait for

    /// The call takes longer than it may while others wait.
    struct TakesLong: Error {}

    /// Gives a call back to be worked on by a thread that delays no other call, if so many bytes are to be
    /// written: at a gigabyte a second 64 kB take some sixty microseconds.
    ///
    /// - Throws: `TakesLong`.
    func checkLength(_ bytes: Int) throws {
        if isAtOnce, bytes > 64 << 10 { throw TakesLong() }
    }

    // MARK: - Answers

    /// The URL of something in the database, as `Location` names it.
    func location(_ path: String...) -> String {
        let (scheme, host) = calledAddress
        return "\(scheme)://\(host)/"
            + ([databaseName] + path).map(PercentEncoding.encode).joined(separator: "/")
    }

    /// Refuses a client that takes nothing of what there is.
    func checkAccept(_ route: Route) throws {
        guard !route.answersAnyType, !Accept.allowsAnything(headers["Accept"])
        else { return }
        throw HTTPFailure(
            406, "not_acceptable", "Answers come as application/json, which Accept leaves out.")
    }

    /// Whether the client takes a media type: it says so, or says nothing.
    func accepts(_ type: String) -> Bool { Accept.allows(headers["Accept"], type) }
}

/// The `Accept` header.
enum Accept {
    /// What answers come as, but for attachments.
    private static let served = [
        "application/json", "text/plain", "multipart/related", "multipart/mixed",
        "text/event-stream",
    ]

    /// Whether a client takes anything that is served: nothing is known of it without the header.
    static func allowsAnything(_ header: String?) -> Bool {
        guard let header, !header.isEmpty, header != "*/*" else { return true }
        return served.contains { allows(header, $0) }
    }

    /// Whether a header allows a media type, itself or by a wildcard.
    static func allows(_ header: String?, _ type: String) -> Bool {
        guard let header else { return true }
        let group = type.prefix { $0 != "/" } + "/*"
        return header.split(separator: ",").contains { item in
            let parts = item.split(separator: ";")
            let name = trimmed(parts.first ?? "").lowercased()
            guard NameSet([type, String(group), "*/*"]).contains(name) else { return false }
            return !parts.dropFirst().contains { ["q=0", "q=0.0"].contains(trimmed($0)) }
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
