// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

// The listener itself.
extension Call {
    /// `GET /`
    func welcome() throws -> ListenerResponse {
        .json([
            "couchdb": "Welcome",
            "CouchbaseLite": "Welcome",
            "version": .string(Site.couchVersion),
            "uuid": .string(site.accounts.uuid),
            "features": .array(features),
            "vendor": ["name": "Divan", "version": .string(Manager.version)],
        ])
    }

    /// What the listener can do beside what every CouchDB can; searches need a runtime.
    private var features: [JSONValue] {
        ["access-ready", "partitioned", "scheduler"]
            + (site.options.scripts.isEmpty ? [] : ["search"])
            + ["divan-database", "divan-verify"] + (site.logTail == nil ? [] : ["divan-log"])
            + (site.options.devices == nil ? [] : ["divan-peers"])
            + (site.options.readOnly ? ["read-only"] : [])
            + (site.options.opensByKey ? ["divan-open"] : [])
    }

    /// `GET /_up`
    func up() throws -> ListenerResponse {
        if let maintenance = site.configuration.settings.maintenance {
            return .json(["status": .string(maintenance)], status: 404)
        }
        return .json(["status": "ok", "seeds": [:]])
    }

    /// `GET /_all_dbs`
    func allDatabases() throws -> ListenerResponse {
        .json(.array(try listedDatabases().map { .string($0) }))
    }

    private func listedDatabases() throws -> [String] {
        let request = try AllDocumentsRequest(query)
        var names = try site.manager.allDatabaseNames().filter(request.contains)
        if request.descending { names.reverse() }
        return Array(names.dropFirst(request.skip).prefix(request.limit ?? .max))
    }

    /// `GET /_dbs_info`, and `POST` with `keys`
    func databasesInfo() throws -> ListenerResponse {
        var names: [JSONValue]
        if request.head.method == "POST" {
            guard let keys = try objectBody()["keys"]?.array else {
                throw HTTPFailure.badRequest("`keys` member must exist.")
            }
            guard keys.count <= 100 else {
                throw HTTPFailure.badRequest("`keys` must have at most 100 names.")
            }
            names = keys
        } else {
            names = try listedDatabases().map { .string($0) }
        }
        return .json(.array(names.map { .object(infoEntry($0)) }))
    }

    /// What `_dbs_info` tells of one database; where it cannot be opened or read, why.
    private func infoEntry(_ key: JSONValue) -> JSONObject {
        guard let name = key.string else { return ["key": key, "error": "not_found"] }
        do {
            guard let database = try site.manager.existingDatabase(named: name) else {
                return ["key": key, "error": "not_found"]
            }
            return ["key": key, "info": .object(try info(database))]
        } catch {
            let failure = ErrorResponse.told(error, ofDatabase: name)
            return ["key": key, "error": .string(failure.error), "reason": .string(failure.reason)]
        }
    }

    /// `GET /_uuids`
    func uuids() throws -> ListenerResponse {
        let count = try query.count("count") ?? 1
        guard count <= 1_000 else {
            throw HTTPFailure.badRequest("count parameter too large")
        }
        let algorithm = site.configuration.settings.uuids
        let uuids = (0..<count).map { _ in site.uuids.next(algorithm) }
        let answer = ListenerResponse.json(["uuids": .array(uuids.map { .string($0) })])
            .with("Cache-Control", "must-revalidate, no-cache").with("Pragma", "no-cache")
        // No two answers are the same, and this says so to caches in between.
        return uuids.first.map { answer.with("ETag", "\"\($0)\"") } ?? answer
    }

    /// `GET /_active_tasks`
    func activeTasks() throws -> ListenerResponse {
        .json(.array(site.tasks.list + site.indexingTasks + site.replications.list))
    }
}

// `_session`.
extension Call {
    /// `GET /_session`
    func session() throws -> ListenerResponse {
        if user.name == nil, try query.flag("basic") {
            throw HTTPFailure.unauthorized("Please login.")
        }
        var context: JSONObject = ["name": user.name.map { .string($0) } ?? .null]
        context["roles"] = .array(user.roles.sorted().map { .string($0) })
        var info: JSONObject = [
            "authentication_db": .string(site.configuration.usersDatabase),
            "authentication_handlers": .array(site.guardian.methods.map { .string($0) }),
        ]
        if let method = user.method { info["authenticated"] = .string(method) }
        return .json(["ok": true, "userCtx": .object(context), "info": .object(info)])
    }

    /// `POST /_session`
    func login() throws -> ListenerResponse {
        let (next, fail) = (try path(in: "next"), try path(in: "fail"))
        try Login.checkType(headers)
        let login =
            Login.isObject(headers)
            ? try Login(objectBody()) : try Login(form: request.body.bytes(limit: 64 * 1_024))
        let signedIn: ListenerUser
        do {
            signedIn = try site.guardian.signIn(
                login.name, password: login.password, from: request.head.network)
        } catch let failure as HTTPFailure where failure.status == 401 {
            guard let fail else { throw failure }
            return Self.leading(
                ErrorResponse.response(to: failure).with("Set-Cookie", Accounts.noCookie), to: fail)
        }
        let roles = JSONValue.array(signedIn.roles.sorted().map { .string($0) })
        let response = ListenerResponse.json([
            "ok": true, "name": .string(login.name), "roles": roles,
        ])
        // Hashing takes a good part of a second, in which the password may have been changed.
        let cookie = site.accounts.cookie(
            for: signedIn, secure: isSecure,
            isCrossSite: site.guardian.isFromAllowedPage(request.head))
        guard let cookie else { throw Guardian.wrongPassword }
        return Self.leading(response.with("Set-Cookie", cookie), to: next)
    }

    /// An answer that leads a browser to a path; as it is where there is none.
    private static func leading(_ response: ListenerResponse, to path: String?) -> ListenerResponse
    {
        guard let path else { return response }
        var response = response
        response.statusAlone = response.status
        response.status = 302
        response.headers["Location"] = path
        return response
    }

    /// Where a parameter has a browser go, as `next` once its user has signed in, and `fail` where the password is wrong; nil where
    /// the parameter names no path of this listener.
    ///
    /// - Throws: `HTTPFailure` 400 when it is too long for the head of an answer.
    private func path(in parameter: String) throws -> String? {
        guard let path = query[parameter] else { return nil }
        guard path.utf8.count <= Self.longestNext else {
            throw HTTPFailure.badRequest(
                "The parameter `\(parameter)` is longer than \(Self.longestNext) bytes; name a shorter path."
            )
        }
        return Self.isPathHere(path) ? path : nil
    }

    private static let longestNext = 2_048

    /// Whether a browser that is sent to a text stays with the listener.
    ///
    /// A browser reads a backslash as a slash, and leaves out tabs and line breaks wherever they stand, so `/\host` and
    /// two slashes with a tab between them lead to another host as `//host` does.
    private static func isPathHere(_ text: String) -> Bool {
        text.hasBytePrefix("/") && !text.hasBytePrefix("//")
            && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
    }

    /// `DELETE /_session`
    func logout() throws -> ListenerResponse {
        let next = try path(in: "next")
        return Self.leading(
            ListenerResponse.done().with("Set-Cookie", Accounts.noCookie), to: next)
    }

    private var isSecure: Bool { request.head.isSecure }
}
