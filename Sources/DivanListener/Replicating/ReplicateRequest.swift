// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import DivanQuery
internal import DivanReplication

/// The body of `POST /_replicate`, read and checked.
///
/// At least one of source and target is a database here, by its name. What goes from here to a URL, or
/// to another database here, is a push of the source; what comes from a URL is a pull of the target.
///
/// Clients of CouchDB 3 name databases here by URLs, too: a URL under the name by which the client
/// called means one. Where credentials go with it, it is used in the name of their user.
struct ReplicateRequest: Sendable {
    /// Where one end of the replication is.
    enum End: Sendable, Equatable {
        /// A database here.
        case local(String)
        /// A database behind HTTP.
        case url(String)

        static func == (left: End, right: End) -> Bool {
            switch (left, right) {
            case (.local(let one), .local(let other)), (.url(let one), .url(let other)):
                one.hasSameBytes(as: other)
            default: false
            }
        }

        /// What answers, lists and logs call it; without credentials.
        ///
        /// A URL that was written wrongly is taken for a name, and may hold a password.
        var label: String {
            switch self {
            case .local(let name) where Manager.isValidDatabaseName(name): name
            case .local: "a name that is no database's"
            case .url(let url): ReplicationEndpoint.url(url).description
            }
        }

        /// Refuses a name that no database can have, without a word of it.
        func checkName() throws {
            guard case .local(let name) = self, !Manager.isValidDatabaseName(name) else { return }
            throw HTTPFailure(
                400, "illegal_database_name",
                "An end of the replication is \(label): give a database here by its name, and one behind HTTP by a "
                    + "URL that begins with http:// or https://.")
        }
    }

    let source: End
    let target: End
    /// What is shown at a database here; nil for nothing, and for one behind a URL.
    let sourceCredentials: HTTPHeaders?
    let targetCredentials: HTTPHeaders?
    let isCancelling: Bool
    var settings: ReplicationConfiguration

    /// Reads a body; `hosts` are what clients call this listener.
    init(_ body: JSONObject, hosts: [String]) throws {
        // Some clients send every option, null where it is not set.
        let body = JSONObject(body.filter { $0.value != .null })
        var settings = ReplicationConfiguration()
        (source, sourceCredentials) = try Self.end(body["source"], "source", hosts, &settings)
        (target, targetCredentials) = try Self.end(body["target"], "target", hosts, &settings)
        try Self.readTransfer(body, source, target, &settings)
        isCancelling = try Self.flag(body, "cancel")
        settings.isContinuous = try Self.flag(body, "continuous")
        settings.createTarget = try Self.flag(body, "create_target")
        settings.createsPartitioned = try Self.createsPartitioned(body)
        try Self.readFilter(body, &settings)
        if let selector = body["selector"] {
            guard let object = selector.object else {
                throw Self.malformed("selector", "an object")
            }
            _ = try DocumentSelector(json: selector)
            settings.selector = object
        }
        if let ids = body["doc_ids"] {
            guard let list = ids.array, list.allSatisfy({ $0.string != nil }) else {
                throw Self.malformed("doc_ids", "an array of strings")
            }
            // No document has an ID that none can have.
            settings.documentIDs = list.compactMap(\.string).flatMap(Self.named)
                .filter(\.isValid)
            // No IDs mean no documents, where the setting without any means all.
            if settings.documentIDs.isEmpty { settings.selector = ["_id": ["$in": []]] }
        }
        let kinds = [
            settings.filter != nil, body["selector"] != nil, body["doc_ids"] != nil,
        ]
        guard kinds.count(where: { $0 }) <= 1 else {
            throw HTTPFailure.badRequest(
                "`doc_ids`, `filter` and `selector` exclude each other.")
        }
        self.settings = settings
    }

    /// Refuses a replication with another server: a user could have this one send requests into its own network.
    func checkIsHere() throws {
        guard case .local = source, case .local = target else {
            throw HTTPFailure.forbidden(
                "Administrators replicate with other servers; you may between databases here, or from the other side."
            )
        }
    }

    // MARK: - Parts

    /// Reads the filter and its parameters, which mean nothing without one, as in CouchDB.
    private static func readFilter(
        _ body: JSONObject, _ settings: inout ReplicationConfiguration
    ) throws {
        let parameters = body["query_params"] ?? [:]
        guard let object = parameters.object else { throw malformed("query_params", "an object") }
        guard let filter = body["filter"] else { return }
        guard let name = filter.string else { throw malformed("filter", "a string") }
        settings.filter = name
        settings.filterParameters = object
        if let problem = FilterParameters.problem(object) {
            throw HTTPFailure.badRequest("`query_params`: \(problem)")
        }
    }

    /// An end: a name, a URL, or an object with `url`, `headers` and `auth`; and what is shown at one that is here.
    private static func end(
        _ value: JSONValue?, _ name: String, _ hosts: [String],
        _ settings: inout ReplicationConfiguration
    ) throws -> (End, HTTPHeaders?) {
        guard let value else { throw HTTPFailure.badRequest("Missing required field: \(name)") }
        let object = value.object
        guard let place = value.string ?? object?["url"]?.string, !place.isEmpty else {
            throw malformed(name, "a name, a URL, or an object with `url`")
        }
        guard place.contains("://") else { return (.local(place), nil) }
        guard place.hasBytePrefix("http://") || place.hasBytePrefix("https://") else {
            throw malformed(name, "a URL with http or https")
        }
        let fields = try headers(object?["headers"], name)
        let user = try basic(object?["auth"], name)
        if let own = database(of: place, at: hosts) {
            guard let url = try? HTTPURL(typed: place) else { throw malformed(name, "a URL") }
            return (.local(own), credentials(fields, user ?? url.user))
        }
        for field in fields { settings.headers[field.name] = field.value }
        if let user {
            settings.authenticator = .basic(name: user.name, password: user.password)
        }
        return (.url(place), nil)
    }

    private static func headers(_ value: JSONValue?, _ name: String) throws -> HTTPHeaders {
        guard let value else { return [:] }
        guard let object = value.object else { throw malformed("\(name).headers", "an object") }
        var fields = HTTPHeaders()
        for (field, value) in object {
            guard let text = value.string else {
                throw malformed("\(name).headers", "an object of strings")
            }
            guard !HTTPHeaders.isFraming(field) else {
                throw HTTPFailure.badRequest(
                    "`\(name).headers` has the field '\(field)', which is set by the connection itself; leave it out."
                )
            }
            fields.add(field, text)
        }
        return fields
    }

    private static func basic(_ auth: JSONValue?, _ name: String) throws -> HTTPURL.User? {
        guard let auth, auth.object != [:] else { return nil }
        guard let basic = auth["basic"] else {
            throw HTTPFailure.notImplemented("Of `auth` only `basic` is available in Divan.")
        }
        guard let user = basic["username"]?.string, let password = basic["password"]?.string
        else { throw malformed("\(name).auth.basic", "`username` and `password`") }
        return HTTPURL.User(name: user, password: password)
    }

    /// What a request to a database here would show: of `auth`, the URL and the header fields the first counts
    /// that has a name and password, as in CouchDB.
    private static func credentials(_ fields: HTTPHeaders, _ user: HTTPURL.User?) -> HTTPHeaders? {
        var fields = fields
        if let user {
            let text = Base64.encode(Array("\(user.name):\(user.password)".utf8))
            fields["Authorization"] = "Basic " + text
        }
        return Guardian.credentialFields.contains { fields[$0] != nil } ? fields : nil
    }

    /// The name of the database here that a URL means; nil when it is one elsewhere.
    private static func database(of url: String, at hosts: [String]) -> String? {
        guard let target = try? RequestTarget(url), target.components.count == 1 else { return nil }
        let rest = url.afterBytePrefix("https://") ?? url.afterBytePrefix("http://") ?? url
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] }
        let isHere = hosts.contains { isSame(String(place ?? authority), $0) }
        return isHere ? target.components[0] : nil
    }

    /// Whether two hosts with their ports are one: the same, or both this machine.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.lowercased(), right.lowercased())
        if left.hasSameBytes(as: right) { return true }
        return Guardian.isLoopback(Guardian.name(ofHost: left))
            && Guardian.isLoopback(Guardian.name(ofHost: right))
            && port(of: left) == port(of: right)
    }

    private static func port(of host: String) -> Substring {
        let rest = host.split(separator: "]", omittingEmptySubsequences: false).last ?? ""
        return rest.lastIndex(of: ":").map { rest[rest.index(after: $0)...] } ?? ""
    }

    /// The documents that an item of `doc_ids` means: CouchDB takes an ID as it is, and as one that is encoded as a URL's.
    private static func named(_ text: String) -> [DocumentID] {
        let encoded = Array(text.utf8)[...]
        guard encoded.contains(UInt8(ascii: "%")),
            let decoded = PercentEncoding.decodeRequest(encoded, plusIsSpace: false)
        else { return [DocumentID(text)] }
        return [DocumentID(text), DocumentID(decoded)]
    }

    /// Whether a target that is made is a partitioned database. The other members say how a cluster keeps it.
    private static func createsPartitioned(_ body: JSONObject) throws -> Bool {
        guard let parameters = body["create_target_params"] else { return false }
        guard let object = parameters.object else {
            throw malformed("create_target_params", "an object")
        }
        switch object["partitioned"] {
        case nil: return false
        // They are parameters of a URL, so some clients write them as texts.
        case .bool(let flag)?: return flag
        case "true"?: return true
        case "false"?: return false
        default: throw malformed("create_target_params.partitioned", "true or false")
        }
    }

    static func flag(_ body: JSONObject, _ name: String, default: Bool = false) throws -> Bool {
        guard let value = body[name] else { return `default` }
        guard let flag = value.bool else { throw malformed(name, "true or false") }
        return flag
    }

    static func malformed(_ name: String, _ wanted: String) -> HTTPFailure {
        .badRequest("`\(name)` must be \(wanted).")
    }
}
