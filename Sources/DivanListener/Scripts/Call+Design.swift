// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// What all functions of design documents need: the design document, and what they are told of the request.
extension Call {
    /// A design document by its name.
    ///
    /// - Throws: `HTTPFailure` 404 when there is none.
    func design(_ name: String) throws -> Document {
        let id = DocumentID("_design/\(name)")
        if let document = try readableDocument(id) { return document }
        throw try knownTree(of: id) == nil ? HTTPFailure.missing : .deleted
    }

    /// Refuses a function that a design document does not have, in CouchDB's words.
    static func checkFunction(_ document: Document, _ kind: String, _ name: String) throws {
        guard let functions = document[kind].value else {
            throw HTTPFailure.notFound("missing json key: \(kind)")
        }
        guard functions[name] != nil else {
            throw HTTPFailure.notFound("missing json key: \(name.prefix(200))")
        }
    }

    /// For whom functions of the database's design documents are called.
    var designCaller: DesignCaller {
        DesignCaller(user, databaseName, openDatabase)
    }

    /// What a function is told of the request that calls it.
    ///
    /// - Parameters:
    ///   - id: The document that the path names.
    ///   - body: The body; nil when the request has none.
    ///   - isRewriting: Whether it is a function that rewrites, which is told less.
    /// - Returns: CouchDB's request object.
    /// - Throws: `HTTPFailure` 400 for a parameter that is malformed JSON; `DatabaseError`.
    func scriptRequest(
        id: String?, body: JSONValue? = nil, isRewriting: Bool = false
    ) throws -> JSONObject {
        let head = request.head
        var object: JSONObject = [:]
        if !isRewriting {
            object["info"] = .object(try info(database))
            object["uuid"] = .string(HexText.random())
            object["id"] = id.map { .string($0) } ?? .null
        }
        let path = JSONValue.array(target.components.map { .string($0) })
        object["method"] = .string(head.method == "HEAD" ? "GET" : head.method)
        object["requested_path"] = path
        object["path"] = path
        object["raw_path"] = .string(head.target)
        object["query"] = .object(try scriptQuery())
        object["headers"] = .object(scriptHeaders())
        object["body"] = body ?? "undefined"
        object["peer"] = .string(head.network)
        if !isRewriting { object["form"] = .object(scriptForm(body)) }
        object["cookie"] = [:]
        object["userCtx"] = .object(user.context(of: databaseName))
        object["secObj"] = .object(try designCaller.security())
        return object
    }

    private func scriptQuery() throws -> JSONObject {
        var object: JSONObject = [:]
        for (name, value) in query.items {
            let isJSON = ["key", "startkey", "endkey", "descending"].contains(name)
            object[name] = isJSON ? try query.json(name) ?? .null : .string(value)
        }
        return object
    }

    /// Header fields by which clients and proxies show who they are.
    private static let secretFields: NameSet = [
        "authorization", "cookie", "proxy-authorization", "x-auth-couchdb-token",
        "x-forwarded-client-cert",
    ]

    /// The header fields, but for those that show who the client is.
    private func scriptHeaders() -> JSONObject {
        var object: JSONObject = [:]
        for field in headers
        where !Self.secretFields.contains(field.name.lowercased()) {
            let words = field.name.lowercased().split(
                separator: "-", omittingEmptySubsequences: false)
            let shown = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(
                separator: "-")
            let known = object[shown]?.string.map { $0 + ", " } ?? ""
            object[shown] = .string(known + field.value)
        }
        return object
    }

    /// The fields of a form that the body is.
    private func scriptForm(_ body: JSONValue?) -> JSONObject {
        guard ["POST", "PUT"].contains(request.head.method), let text = body?.string,
            headers["Content-Type"]?.lowercased().hasBytePrefix(
                "application/x-www-form-urlencoded") == true,
            let fields = try? QueryParameters(Array(text.utf8)[...])
        else { return [:] }
        var object: JSONObject = [:]
        for (name, value) in fields.items { object[name] = .string(value) }
        return object
    }
}

extension DesignCaller {
    /// A user of the listener at a database, with its security object.
    init(_ user: ListenerUser, _ name: String, _ database: Database?) {
        self.init(user: user.context(of: name)) {
            try database.map { try SecurityObject.stored(in: $0) } ?? [:]
        }
    }
}

extension ListenerUser {
    /// `userCtx` at a database.
    fileprivate func context(of database: String) -> JSONObject {
        [
            "db": .string(database), "name": name.map { .string($0) } ?? .null,
            "roles": .array(roles.sorted().map { .string($0) }),
        ]
    }
}
