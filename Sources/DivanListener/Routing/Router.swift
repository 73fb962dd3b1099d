// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanLogging

/// Answers requests: the whole of the listener but its sockets.
///
///     head and body ──► Host and Origin? ──► who? ──► which route? ──► may they? ──► handler
///                          │ 403              │ 401      │ 404, 405      │ 401, 403     │
///                          ▼                  ▼          ▼               ▼              ▼
///                       answer, with the header fields that every answer has
///
/// It is a function from a request to an answer, so its tests are transcripts without a network. An
/// answer's body may come in pieces (`ResponseProducer`): the router makes the first, the server
/// asks for the rest.
package struct Router: Sendable {
    let site: Site

    init(site: Site) { self.site = site }

    /// Makes a router over the databases of a manager, without sockets.
    package init(_ manager: Manager, _ options: ListenerOptions) throws {
        site = try Site(manager, options)
    }

    /// What a client may send that has not shown who it is, in bytes.
    static let strangersBody = 64 << 10

    // One row for each route; `GET` rows serve `HEAD`, too.
    static let mainTable: [Route] = [
        // The listener
        .short("GET", "/", .anyone) { try $0.welcome() },
        .short("GET", "/_up", .anyone) { try $0.up() },
        .read("GET", "/_utils", .anyone) { try $0.consoleFile() },
        .read("GET", "/_utils/{path}", .anyone) { try $0.consoleFile() },
        .read("GET", "/_session", .anyone) { try $0.session() },
        .read("POST", "/_session", .anyone) { try $0.login() }.taking(.setting),
        .read("DELETE", "/_session", .anyone) { try $0.logout() },
        .read("GET", "/_uuids", .anyone) { try $0.uuids() },
        .read("GET", "/_all_dbs", .serverAdmin) { try $0.allDatabases() },
        .read("GET", "/_dbs_info", .serverAdmin) { try $0.databasesInfo() },
        .read("POST", "/_dbs_info", .serverAdmin) { try $0.databasesInfo() },
        .read("GET", "/_active_tasks", .serverAdmin) { try $0.activeTasks() },
        .read("GET", "/_db_updates", .serverAdmin) { try $0.databaseUpdates() },
        .read("GET", "/_scheduler/jobs", .serverAdmin) { try $0.schedulerJobs() },
        .read("GET", "/_scheduler/jobs/{job}", .serverAdmin) { try $0.schedulerJob() },
        .read("GET", "/_scheduler/docs", .serverAdmin) { try $0.schedulerDocuments() },
        .read("GET", "/_scheduler/docs/{db}", .serverAdmin) { try $0.schedulerDocuments() },
        .read("GET", "/_scheduler/docs/{db}/{doc}", .serverAdmin) { try $0.schedulerDocument() },
        .read("GET", "/_edge", .metrics) { try $0.edge() },
        .long("POST", "/_replicate", .user) { try $0.replicate() }.taking(.selector),
        .read("POST", "/_reload_query_servers", .serverAdmin) { try $0.reloadScripts() },

        // What CouchDB has for a node and its cluster
        .read("GET", "/_membership", .serverAdmin) { try $0.membership() },
        .read("GET", "/_cluster_setup", .serverAdmin) { try $0.clusterState() },
        .write("POST", "/_cluster_setup", .serverAdmin) { try $0.setUpCluster() }.taking(.setting),
        .read("GET", "/_node", .serverAdmin) { try $0.incompleteNode() },
        .read("GET", "/_node/{node}", .serverAdmin) { try $0.nodeName() },
        .read("GET", "/_node/{node}/_config", .serverAdmin) { try $0.configuration() },
        .read("POST", "/_node/{node}/_config/_reload", .serverAdmin) {
            try $0.reloadConfiguration()
        },
        .read("GET", "/_node/{node}/_config/{section}", .serverAdmin) {
            try $0.configurationSection()
        },
        .read("GET", "/_node/{node}/_config/{section}/{key}", .serverAdmin) {
            try $0.configurationValue()
        },
        .write("PUT", "/_node/{node}/_config/{section}/{key}", .serverAdmin) {
            try $0.setConfiguration()
        }.taking(.setting),
        .write("DELETE", "/_node/{node}/_config/{section}/{key}", .serverAdmin) {
            try $0.deleteConfiguration()
        },
        .read("GET", "/_node/{node}/_stats", .metrics) { try $0.statistics() },
        .read("GET", "/_node/{node}/_stats/{path}", .metrics) { try $0.statistics() },
        .read("GET", "/_node/{node}/_system", .metrics) { try $0.system() },
        .read("GET", "/_node/{node}/_prometheus", .metrics) { try $0.prometheus() },
        .read("GET", "/_node/{node}/_versions", .serverAdmin) { try $0.versions() },
        .read("POST", "/_node/{node}/_restart", .serverAdmin) { try $0.restartNode() },
        .read("GET", "/_reshard", .serverAdmin) { try $0.resharding() },
        .read("GET", "/_reshard/state", .serverAdmin) { try $0.reshardingState() },
        .read("PUT", "/_reshard/state", .serverAdmin) { try $0.reshard() },
        .read("GET", "/_reshard/jobs", .serverAdmin) { try $0.reshardingJobs() },
        .read("POST", "/_reshard/jobs", .serverAdmin) { try $0.reshard() },
        .read("*", "/_reshard/jobs/{id}", .serverAdmin) { try $0.noJob() },
        .read("*", "/_reshard/jobs/{id}/state", .serverAdmin) { try $0.noJob() },
        .read("GET", "/_divan/log", .serverAdmin) { try $0.logTail() },
        .read("POST", "/_divan/pair", .anyone) { try $0.pair() }.taking(.setting),
        .read("POST", "/_divan/greet", .anyone) { try $0.greet() }.taking(.setting),
        .read("GET", "/_divan/peers", .serverAdmin) { try $0.peers() },
        .write("PUT", "/_divan/peers", .serverAdmin) { try $0.renameDevice() }.taking(.setting),
        .write("PUT", "/_divan/peers/{id}", .serverAdmin) { try $0.changePeer() }.taking(
            .setting),
        .write("DELETE", "/_divan/peers/{id}", .serverAdmin) { try $0.revokePeer() },
        .write("POST", "/_divan/pairings", .serverAdmin) { try $0.beginPairing() }.taking(
            .setting),
        .read("GET", "/_divan/pairings/{id}", .serverAdmin) { try $0.pairing() },
        .write("PUT", "/_divan/pairings/{id}", .serverAdmin) { try $0.answerPairing() }.taking(
            .setting),
        .write("DELETE", "/_divan/pairings/{id}", .serverAdmin) { try $0.endPairing() },

        // Databases
        .read("GET", "/{db}") { try $0.databaseInfo() },
        .write("PUT", "/{db}", .serverAdmin) { try $0.createDatabase() },
        .write("DELETE", "/{db}", .serverAdmin) { try $0.deleteDatabase() },
        .write("POST", "/{db}") { try $0.postDocument() }.taking(.document),
        .write("POST", "/{db}/_ensure_full_commit") { try $0.ensureFullCommit() },
        .write("POST", "/{db}/_compact", .databaseAdmin) { try $0.compact() },
        .write("POST", "/{db}/_compact/{ddoc}", .databaseAdmin) { try $0.compactViews() },
        .write("POST", "/{db}/_view_cleanup", .databaseAdmin) { try $0.cleanViews() },
        .write("POST", "/{db}/_purge", .serverAdmin) { try $0.purge() },
        .read("GET", "/{db}/_purged_infos", .serverAdmin) { try $0.purgedInfos() },
        .read("GET", "/{db}/_purged_infos_limit") { try $0.purgedInfosLimit() },
        .write("PUT", "/{db}/_purged_infos_limit", .databaseAdmin) {
            try $0.setPurgedInfosLimit()
        }.taking(.setting),
        .read("GET", "/{db}/_auto_purge") { try $0.autoPurge() },
        .write("PUT", "/{db}/_auto_purge", .databaseAdmin) { try $0.setAutoPurge() }.taking(
            .setting),
        .read("GET", "/{db}/_time_seq") { try $0.timeSequence() },
        .write("DELETE", "/{db}/_time_seq", .databaseAdmin) { try $0.resetTimeSequence() },
        .read("GET", "/{db}/_revs_limit") { try $0.revisionsLimit() },
        .write("PUT", "/{db}/_revs_limit", .databaseAdmin) { try $0.setRevisionsLimit() }.taking(
            .setting),
        .read("GET", "/{db}/_divan", .databaseAdmin) { try $0.databaseDetails() },
        .read("GET", "/{db}/_divan/verify", .serverAdmin) { try $0.verification() },
        .read("POST", "/{db}/_divan/verify", .serverAdmin) { try $0.startVerification() },
        .read("DELETE", "/{db}/_divan/verify", .serverAdmin) { try $0.cancelVerification() },
        .read("GET", "/{db}/_shards") { try $0.shards() },
        .read("GET", "/{db}/_shards/{doc}") { try $0.shardOfDocument() },
        .write("POST", "/{db}/_sync_shards", .serverAdmin) { try $0.syncShards() },
        .read("GET", "/{db}/_security") { try $0.securityObject() },
        .write("PUT", "/{db}/_security", .databaseAdmin) { try $0.setSecurity() },

        // Many documents
        .read("GET", "/{db}/_all_docs") { try $0.allDocuments() },
        .read("POST", "/{db}/_all_docs") { try $0.allDocuments() },
        .read("POST", "/{db}/_all_docs/queries") { try $0.allDocumentsQueries() },
        .read("GET", "/{db}/_design_docs") { try $0.designDocuments() },
        .read("POST", "/{db}/_design_docs") { try $0.designDocuments() },
        .read("POST", "/{db}/_design_docs/queries") { try $0.designDocumentsQueries() },
        .read("GET", "/{db}/_local_docs") { try $0.localDocuments() },
        .read("POST", "/{db}/_local_docs") { try $0.localDocuments() },
        .read("POST", "/{db}/_local_docs/queries") { try $0.localDocumentsQueries() },
        .write("POST", "/{db}/_bulk_docs") { try $0.bulkDocuments() }.taking(.documents),
        .read("POST", "/{db}/_bulk_get") { try $0.bulkGet() },
        .read("POST", "/{db}/_revs_diff") { try $0.revisionsDifference() },
        .read("POST", "/{db}/_missing_revs") { try $0.missingRevisions() },
        .read("GET", "/{db}/_changes") { try $0.changes() },
        .read("POST", "/{db}/_changes") { try $0.changes() }.taking(.selector),

        // One document
        .short("GET", "/{db}/{doc}") { try $0.getDocument() },
        .write("PUT", "/{db}/{doc}") { try $0.putDocument() }.taking(.document),
        .write("POST", "/{db}/{doc}") { try $0.postForm() }.taking(.document),
        .write("DELETE", "/{db}/{doc}") { try $0.deleteDocument() },
        .write("COPY", "/{db}/{doc}") { try $0.copyDocument() },
        .read("GET", "/{db}/{doc}/{attachment}") { try $0.getAttachment() },
        .write("PUT", "/{db}/{doc}/{attachment}") { try $0.putAttachment() },
        .write("DELETE", "/{db}/{doc}/{attachment}") { try $0.deleteAttachment() },
        .short("GET", "/{db}/_local/{id}") { try $0.getLocal() },
        .write("PUT", "/{db}/_local/{id}") { try $0.putLocal() }.taking(.document),
        .write("DELETE", "/{db}/_local/{id}") { try $0.deleteLocal() },
        .write("COPY", "/{db}/_local/{id}") { try $0.copyLocal() },

        // Queries
        .read("POST", "/{db}/_find") { try $0.find() }.taking(.selector),
        .read("POST", "/{db}/_explain") { try $0.explain() }.taking(.selector),
        .read("GET", "/{db}/_index") { try $0.indexes() },
        .write("POST", "/{db}/_index", .databaseAdmin) { try $0.createIndex() }.taking(.selector),
        .write("POST", "/{db}/_index/_bulk_delete", .databaseAdmin) { try $0.deleteIndexes() },
        .write("DELETE", "/{db}/_index/{ddoc}/json/{name}", .databaseAdmin) {
            try $0.deleteIndex()
        },
        .write("DELETE", "/{db}/_index/{ddoc}/text/{name}", .databaseAdmin) {
            try $0.deleteTextIndex()
        },

        // Partitions
        .read("*", "/{db}/_partition") { try $0.namelessPartition() },
        .read("*", "/{db}/_partition/{partition}") { try $0.partitionInfo() },
        .read("GET", "/{db}/_partition/{partition}/_all_docs") { try $0.allDocuments() },
        .read("POST", "/{db}/_partition/{partition}/_all_docs") { try $0.allDocuments() },
        .read("POST", "/{db}/_partition/{partition}/_all_docs/queries") {
            try $0.allDocumentsQueries()
        },
        .read("POST", "/{db}/_partition/{partition}/_find") { try $0.find() }.taking(.selector),
        .read("POST", "/{db}/_partition/{partition}/_explain") { try $0.explain() }.taking(
            .selector),
        .read("GET", "/{db}/_partition/{partition}/_design/{ddoc}/_view/{name}") {
            try $0.queryView()
        },
        .read("POST", "/{db}/_partition/{partition}/_design/{ddoc}/_view/{name}") {
            try $0.queryView()
        },
        .read("POST", "/{db}/_partition/{partition}/_design/{ddoc}/_view/{name}/queries") {
            try $0.queryViewMany()
        },

        // Design documents
        .read("GET", "/{db}/_design/{ddoc}/_info") { try $0.designInfo() },
        .read("GET", "/{db}/_design/{ddoc}/_view/{name}") { try $0.queryView() },
        .read("POST", "/{db}/_design/{ddoc}/_view/{name}") { try $0.queryView() },
        .read("POST", "/{db}/_design/{ddoc}/_view/{name}/queries") { try $0.queryViewMany() },

        .read("POST", "/{db}/_temp_view") { _ in
            throw HTTPFailure(
                410, "gone", "Temporary views are not supported in CouchDB")
        },

        // Functions of design documents
        .read("*", "/{db}/_design/{ddoc}/_show") { try $0.pathIsInvalid("show_error") },
        .read("*", "/{db}/_design/{ddoc}/_show/{name}") { try $0.show() },
        .read("*", "/{db}/_design/{ddoc}/_show/{name}/{id}") { try $0.show() },
        .read("*", "/{db}/_design/{ddoc}/_list") { try $0.pathIsInvalid("list_error") },
        .read("GET", "/{db}/_design/{ddoc}/_list/{name}/{view}") { try $0.list() },
        .read("POST", "/{db}/_design/{ddoc}/_list/{name}/{view}") { try $0.list() },
        .read("GET", "/{db}/_design/{ddoc}/_list/{name}/{other}/{view}") { try $0.list() },
        .read("POST", "/{db}/_design/{ddoc}/_list/{name}/{other}/{view}") { try $0.list() },
        .read("*", "/{db}/_design/{ddoc}/_update") { try $0.pathIsInvalid("update_error") },
        .write("*", "/{db}/_design/{ddoc}/_update/{name}") { try $0.update() }.taking(.document),
        .write("*", "/{db}/_design/{ddoc}/_update/{name}/{id}") { try $0.update() }.taking(
            .document),
        .read("*", "/{db}/_design/{ddoc}/_rewrite/{path}") { try $0.rewrite() }.taking(.document),
    ]

    static let routes: NameMap<NameMap<Route>> = {
        var routes: NameMap<NameMap<Route>> = [:]
        for route in table { routes[route.pattern, default: [:]][route.method] = route }
        return routes
    }()

    // MARK: - Answering

    /// Answers a request. It blocks, so it runs on a worker.
    package func respond(_ request: ListenerRequest) -> ListenerResponse {
        let beginning = ContinuousClock.now
        let answer = answer(request) { user in
            var request = request.meant
            let end = ContinuousClock.now + Self.longestRewriting
            for _ in 0...Self.mostRewrites where ContinuousClock.now < end {
                do { return try respond(to: request, &user) } catch let rewritten as Rewritten {
                    request = rewritten.request
                }
            }
            throw HTTPFailure.badRequest("Exceeded rewrite recursion limit")
        }
        site.statistics.note(request.head.method, answer.status, since: beginning)
        return answer
    }

    /// How long a request may go on becoming others: each may run a function.
    private static let longestRewriting = Duration.seconds(30)

    /// How often a request may become another one.
    private static let mostRewrites = 100

    /// Answers a request that may be what another one was rewritten to.
    private func respond(
        to request: ListenerRequest, _ user: inout ListenerUser?
    ) throws -> ListenerResponse {
        let head = request.head
        try site.guardian.check(head)
        if head.method == "OPTIONS", let answer = site.cors.preflight(head) { return answer }
        let target = try RequestTarget(head.target)
        let resource = Resource(target.components)
        let route = try route(resource, head.method)
        // The body may have taken hours since the head was looked at, and the account be gone.
        let signedIn = try site.guardian.current(identity(of: request).user())
        user = signedIn
        var call = Call(
            site: site, request: request, target: target, resource: resource, user: signedIn)
        call.bodyKind = route.body
        try call.checkStranger(route)
        call.openDatabase = try open(resource, route, signedIn)
        guard let callback = try call.callback(route) else { return try handle(call, route) }
        return try callback.calling(with: handle(call, route))
    }

    /// Answers a request whose answer takes less time than to hand it to a worker; nil for all others.
    ///
    /// Waking a worker, and waking the server's thread again, cost as much as finding a document and
    /// writing it. So the thread that has read such a request answers it, unless something about it may
    /// take long: a password to be checked, a database to be opened, a rule of the app's, parameters, or
    /// a large document, which `Call.getDocument` gives back.
    package func answerAtOnce(_ request: ListenerRequest) -> ListenerResponse? {
        let head = request.head
        guard head.method == "GET" || head.method == "HEAD", !head.target.containsByte(Self.mark),
            !site.options.authorization.isAskedToRead,
            let target = try? RequestTarget(head.target),
            let identity = request.identity ?? identity(of: head, mayTakeLong: false)
        else { return nil }
        let resource = Resource(target.components)
        guard let route = Self.routes[resource.pattern]?["GET"], route.length == .short else {
            return nil
        }
        let database = resource.database.flatMap { site.manager.openedDatabase(named: $0) }
        guard database != nil || resource.database == nil else { return nil }
        let beginning = ContinuousClock.now
        var isLong = false
        let response = answer(request) { user in
            try site.guardian.check(head)
            var signedIn = try identity.user()
            // Without a body no time has passed since the head was looked at.
            if head.announcesBody { signedIn = try site.guardian.current(signedIn) }
            user = signedIn
            var call = Call(
                site: site, request: request, target: target, resource: resource, user: signedIn)
            call.openDatabase = database
            call.isAtOnce = true
            do { return try handle(call, route) } catch is Call.TakesLong {
                isLong = true
                return ListenerResponse(status: 200)
            }
        }
        if isLong { return nil }
        site.statistics.note(head.method, response.status, since: beginning)
        return response
    }

    private static let mark = UInt8(ascii: "?")

    /// Checks a call, and has its route handle it.
    private func handle(_ call: Call, _ route: Route) throws -> ListenerResponse {
        try call.checkAccess(route)
        try call.checkAccept(route)
        site.statistics.note(route)
        let answer = try handling(call, route)
        if case .bytes(let bytes) = answer.body { try call.checkLength(bytes.count) }
        var response = try KeptAnswer.keeping(
            answer, call.memory, site, check: call.repeatedCheck(route))
        response.memory = call.memory
        // As CouchDB before 3 promised, and clients still ask.
        if route.isWrite, call.headers["X-Couch-Full-Commit"] == "true",
            let database = call.openDatabase, !database.isClosed
        {
            try database.sync()
        }
        return response
    }

    /// Handles a call in the user's name, for functions of design documents that it may run.
    private func handling(_ call: Call, _ route: Route) throws -> ListenerResponse {
        guard route.isWrite, let database = call.openDatabase else { return try route.handle(call) }
        site.times.noteBeforeEdit(of: database)
        return try DesignCaller.$current.withValue(call.designCaller) { try route.handle(call) }
    }

    /// The answer that a closure makes, or that to its error, with what every answer has.
    private func answer(
        _ request: ListenerRequest, _ make: (inout ListenerUser?) throws -> ListenerResponse
    ) -> ListenerResponse {
        let head = request.head
        var response: ListenerResponse
        var user: ListenerUser?
        do { response = try make(&user) } catch {
            response = ErrorResponse.response(to: error, of: name(of: head))
            challenge(&response, head, user)
        }
        return finish(response, head, user)
    }

    /// The answer to a request whose answer failed before anything of it was sent.
    package func fail(_ error: any Error, _ head: RequestHead) -> ListenerResponse {
        finish(ErrorResponse.response(to: error, of: name(of: head)), head, nil)
    }

    /// What the log calls a request.
    private func name(of head: RequestHead) -> String {
        let identifier = head.identifier.map { " (request \($0))" } ?? ""
        return "\(head.method) \(path(of: head))\(identifier)"
    }

    /// The memory for bodies while they come.
    package var receivedBodies: MemoryBudget { site.waitingBytes }

    /// Who makes a request; nil when a password must be hashed to tell, and that may not be done now.
    package func identity(of head: RequestHead, mayTakeLong: Bool) -> Identity? {
        do {
            return try site.guardian.user(of: head, mayTakeLong: mayTakeLong).map(Identity.known)
        } catch { return .refused(ErrorResponse.failure(for: error)) }
    }

    /// Who makes a request, on a thread that may block.
    private func identity(of request: ListenerRequest) -> Identity {
        request.identity ?? identity(of: request.head, mayTakeLong: true) ?? .known(ListenerUser())
    }

    /// The longest body that a request may have: of a client that has not shown who it is not more than is needed
    /// to sign in.
    package func largestBody(of identity: Identity) -> Int {
        let limit = site.configuration.settings.longestRequest
        return identity.isProven ? limit : min(limit, Self.strangersBody)
    }

    /// The answer to a request that is refused before its body has come.
    package func refuse(_ failure: HTTPFailure, _ head: RequestHead) -> ListenerResponse {
        site.statistics.note(head.method, failure.status, since: .now)
        return finish(ErrorResponse.response(to: failure), head, nil)
    }

    func route(_ resource: Resource, _ method: String) throws -> Route {
        let method = method == "HEAD" ? "GET" : method
        if let methods = Self.routes[resource.pattern] {
            guard let route = methods[method] ?? methods[Route.anyMethod] else {
                var allowed = methods.keys.sorted()
                if methods["GET"] != nil { allowed.append("HEAD") }
                throw HTTPFailure.notAllowed(allowed.sorted())
            }
            return route
        }
        if resource.pattern == Resource.localAttachment {
            throw HTTPFailure.badRequest("_local documents do not accept attachments.")
        }
        guard Self.namesReservedID(resource) else { throw HTTPFailure.noRoute }
        if resource.pattern == "/{db}/_local" {
            throw HTTPFailure.invalidLocalID
        }
        switch method {
        case "GET": throw HTTPFailure.missing
        case "PUT", "DELETE", "COPY": throw HTTPFailure.reservedID
        default: throw HTTPFailure.noRoute
        }
    }

    /// The words behind a database that are no IDs, such as `_all_docs`.
    private static let functions = NameSet(
        table.compactMap { route in
            let words = route.pattern.split(separator: "/").map(String.init)
            return words.count > 1 && words[1].hasBytePrefix("_") ? words[1] : nil
        })

    /// Whether a path that leads to no route names a document whose ID none can have: `/db/_foo`, or `/db/_design` without
    /// a name.
    static func namesReservedID(_ resource: Resource) -> Bool {
        let words = resource.pattern.split(separator: "/").map(String.init)
        guard resource.database != nil, words.count > 1, words[1].hasBytePrefix("_") else {
            return false
        }
        if ["_design", "_local"].contains(words[1]) { return words.count == 2 }
        return !functions.contains(words[1])
    }

    private func open(_ resource: Resource, _ route: Route, _ user: ListenerUser) throws
        -> Database?
    {
        let database = try find(resource, route, user)
        if let database { site.prepare(database) }
        return database
    }

    private func find(_ resource: Resource, _ route: Route, _ user: ListenerUser) throws
        -> Database?
    {
        guard let name = resource.database else { return nil }
        if route.pattern == "/{db}", route.method == "PUT" { return nil }
        if let database = site.manager.openedDatabase(named: name) { return database }
        if let database = try site.manager.existingDatabase(named: name) { return database }
        // Those of the listener itself come into being when they are needed.
        guard let system = SystemDatabase(rawValue: name), user.isAdmin,
            site.makesByItself(system),
            route.pattern != "/{db}" || route.method != "DELETE"
        else { throw HTTPFailure.noDatabase }
        try site.create(system.rawValue)
        return try site.manager.existingDatabase(named: name)
    }

    /// What is logged of a target: the path, since a query may name content.
    private func path(of head: RequestHead) -> Substring { head.target.prefix { $0 != "?" } }

    /// Asks for a name and a password where these are missing or wrong.
    ///
    /// Not of a page of another origin, where the browser would show a dialog of its own over what the page asks its user; nor of
    /// a user who is signed in and lacks a right. A page of the listener itself names the challenge that it wants, such as
    /// `Cookie`, for which no browser asks.
    private func challenge(
        _ response: inout ListenerResponse, _ head: RequestHead, _ user: ListenerUser?
    ) {
        guard response.status == 401, head.headers["Origin"] == nil, user?.name == nil else {
            return
        }
        let wanted = head.headers["X-CouchDB-WWW-Authenticate"]
        response.headers["WWW-Authenticate"] =
            wanted == "Cookie" ? wanted : site.configuration.settings.challenge
    }

    private func finish(_ response: ListenerResponse, _ head: RequestHead, _ user: ListenerUser?)
        -> ListenerResponse
    {
        var response = response
        response.headers["Server"] = Site.serverName
        if let identifier = head.identifier {
            response.headers[RequestIdentifier.field] = identifier
            response.headers["X-CouchDB-Body-Time"] = "\(head.bodyTime)"
        }
        let cookie = user.flatMap {
            !$0.wantsRenewal
                ? nil
                : site.accounts.renewal(
                    for: $0, secure: head.isSecure,
                    isCrossSite: site.guardian.isFromAllowedPage(head))
        }
        if let cookie, response.headers["Set-Cookie"] == nil {
            response.headers["Set-Cookie"] = cookie
        }
        site.cors.mark(&response, head)
        for (name, value) in site.options.responseHeaders where response.headers[name] == nil {
            response.headers[name] = value
        }
        let name = head.identifier.map { " (request \($0))" } ?? ""
        Log.listener.verbose("\(head.method) \(path(of: head)) \(response.status)\(name)")
        return response
    }
}
