// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import DivanReplication

// `_replicate`.
extension Call {
    /// `POST /_replicate`
    ///
    /// A one-shot replication is answered when it has ended, a continuous one at once. A user who is no administrator replicates
    /// between databases here, and ends what the user has started.
    func replicate() throws -> ListenerResponse {
        let body = try objectBody()
        if body["cancel"]?.bool == true,
            let id = (body["replication_id"] ?? body["_local_id"] ?? body["id"])?.string
        {
            return try cancel(id)
        }
        let request = try ReplicateRequest(body, hosts: headers.values(of: "Host"))
        let replication = try site.makeReplication(
            request, by: user, inOwnName: !user.isAdmin)
        guard let replication else {
            // Cancelling what was never there.
            throw HTTPFailure.missing
        }
        let new = RunningReplication(
            replication, request, site, user: user.name, number: site.replications.nextNumber(),
            isBounded: !user.isAdmin)
        if request.isCancelling { return try cancel(new.id) }
        if request.settings.isContinuous {
            let running = try site.replications.start(new)
            return .json(["ok": true, "_local_id": .string(running.id)], status: 202)
        }
        if user.isAdmin { return try result(of: new) }
        return try site.replications.waitingAsUser(most: site.options.limits.workerCount * 2) {
            try result(of: new)
        }
    }

    /// Starts a one-shot replication, and waits for its end.
    private func result(of new: RunningReplication) throws -> ListenerResponse {
        switch try site.replications.start(new).wait() {
        case .done(let answer): return .json(.object(answer))
        case .failed(let error): throw Self.failure(error, new.request)
        }
    }

    private func cancel(_ id: String) throws -> ListenerResponse {
        let ended = site.replications.cancel(id) {
            user.isAdmin || $0.documentID == nil && user.isNamed($0.user)
        }
        guard let ended else { throw HTTPFailure.missing }
        // What starts next finds all that this one has done.
        _ = ended.wait()
        return .json(["ok": true, "_local_id": .string(id)])
    }

    /// The refusal that an error of a whole replication becomes.
    private static func failure(_ error: ReplicationError, _ request: ReplicateRequest)
        -> HTTPFailure
    {
        let remote: ReplicateRequest.End =
            if case .url = request.source { request.source } else { request.target }
        return switch error.code {
        case .notFound: HTTPFailure(404, "db_not_found", error.message)
        // A refusal here has no status, and names its database.
        case .unauthorized where error.status == nil: .unauthorized(error.message)
        case .unauthorized:
            .unauthorized(
                "unauthorized to access or create database \(remote.label): \(error.message)")
        case .forbidden: Self.forbidden(error)
        case .invalidSetting: .badRequest(error.message)
        case .cancelled: HTTPFailure(503, "cancelled", "The replication was cancelled.")
        case .database where (error.underlying as? DatabaseError)?.code == .databaseClosed:
            HTTPFailure(404, "db_not_found", error.message)
        case .database where (error.underlying as? DatabaseError)?.code == .scriptFailed:
            HTTPFailure(500, "replication_error", error.message)
        case .database: HTTPFailure(500, "internal_server_error", "The database failed.")
        default: HTTPFailure(500, "replication_error", error.message)
        }
    }
}

extension Call {
    /// A refusal, which says when it ends where the other end did.
    private static func forbidden(_ error: ReplicationError) -> HTTPFailure {
        var failure = HTTPFailure.forbidden(error.message)
        if let seconds = error.retryAfter, let whole = Int64(exactly: seconds.rounded(.up)) {
            failure.headers["Retry-After"] = "\(max(0, whole))"
        }
        return failure
    }
}

// What requests and documents of `_replicator` ask for.
extension Site {
    /// Makes the replication that was asked for.
    ///
    /// - Parameters:
    ///   - request: What was asked for.
    ///   - user: Who asks.
    ///   - inOwnName: Whether databases here are used in the name of that user where no credentials go with them; else as an administrator
    ///     does.
    /// - Returns: The replication; nil when it is to be cancelled and its database is not there.
    /// - Throws: `HTTPFailure` when it makes no sense, or may not be.
    func makeReplication(
        _ request: ReplicateRequest, by user: ListenerUser, inOwnName: Bool = false
    ) throws -> Replication? {
        // The app's functions decide when a client makes a request. A replication does not ask them.
        guard options.authorization.reading == nil, options.authorization.writing == nil else {
            throw HTTPFailure.forbidden(
                "The app decides who may see which document, so replicate from outside.")
        }
        for end in [request.source, request.target] { try end.checkName() }
        if inOwnName { try request.checkIsHere() }
        if options.readOnly, case .local = request.target { throw HTTPFailure.readOnly }
        let reader = PeerUser(request.sourceCredentials, inOwnName ? user : nil, guardian)
        let writer = PeerUser(request.targetCredentials, inOwnName ? user : nil, guardian)
        var settings = request.settings
        settings.localAccess = try access(request.source, reader, request)
        settings.remoteAccess = try access(request.target, writer, request)
        switch (request.source, request.target) {
        case (.local(let source), .local(let target)):
            guard let (here, there) = try bothEnds(source, target, request) else { return nil }
            count(&settings.startingSequence, in: here)
            settings.remoteAuthor = author(at: there, writer, user)
            settings.filterVersion = try Self.filterVersion(request.settings.filter, here)
            return here.makePushReplication(to: there, settings: settings)
        case (.local(let name), .url(let url)):
            guard let source = try end(name, mayCreate: false, request) else { return nil }
            count(&settings.startingSequence, in: source)
            settings.filterVersion = try Self.filterVersion(request.settings.filter, source)
            return source.makePushReplication(to: url, settings: settings)
        case (.url(let url), .local(let name)):
            guard let target = try end(name, mayCreate: true, request) else { return nil }
            swap(&settings.localAccess, &settings.remoteAccess)
            settings.localAuthor = author(at: target, writer, user)
            return target.makePullReplication(from: url, settings: settings)
        case (.url, .url):
            throw HTTPFailure.badRequest("One of source and target must be a database here.")
        }
    }

    /// Makes a place in the feed of a database here the number that it stands for; what is none is left to be refused.
    private func count(_ sequence: inout String?, in source: Database) {
        guard let text = sequence else { return }
        switch sequences(of: source).read(text) {
        case .number(let number): sequence = "\(number)"
        case .foreign: sequence = "0"
        case .malformed: break
        }
    }

    /// A short name for the function that a filter of a design document is now; nil for the app's own, and where there is
    /// none. Documents that did not pass the one before have to be asked about again.
    private static func filterVersion(_ filter: String?, _ source: Database) throws -> String? {
        guard let filter, source.filter(named: filter) == nil,
            let names = DesignItem.names(filter),
            let function = try source.document(withID: DocumentID("_design/\(names.design)"))?[
                "filters"][names.view].string
        else { return nil }
        return HexText.text(Fingerprint.of(function))
    }

    private func bothEnds(_ source: String, _ target: String, _ request: ReplicateRequest) throws
        -> (Database, Database)?
    {
        guard source != target else {
            throw HTTPFailure.badRequest("Source and target are the same database.")
        }
        guard let here = try end(source, mayCreate: false, request),
            let there = try end(target, mayCreate: true, request)
        else { return nil }
        return (here, there)
    }

    private func end(_ name: String, mayCreate: Bool, _ request: ReplicateRequest) throws
        -> Database?
    {
        if let database = try manager.existingDatabase(named: name) { return database }
        if request.isCancelling { return nil }
        guard mayCreate, request.settings.createTarget else {
            throw HTTPFailure(404, "db_not_found", "could not open \(name)")
        }
        try create(name, partitioned: request.settings.createsPartitioned)
        return try manager.database(named: name)
    }

    /// In whose name an end is used that is a database here; nil for an administrator who asks.
    ///
    /// - Throws: `HTTPFailure` 401 or 403 where the user may not use the database, or not make it.
    private func access(
        _ end: ReplicateRequest.End, _ peer: PeerUser?, _ request: ReplicateRequest
    ) throws -> PeerAccess? {
        guard case .local(let name) = end, let peer, !guardian.allowsAnonymousAdmin else {
            return nil
        }
        // A request to cancel names a replication, and uses no database.
        let user = request.isCancelling ? try? peer.user() : try peer.user()
        let access = PeerAccess(user: user?.name ?? peer.shownName) { [weak self] step in
            try self?.check(step, name, peer)
        }
        guard !request.isCancelling, let user else { return access }
        if manager.databaseExists(named: name) {
            try authorise("GET", name, [], as: user)
        } else if request.settings.createTarget, end == request.target {
            try authorise("PUT", name, [], as: user)
        }
        return access
    }

    /// In whose name the rules of a target here are asked: of the user who uses it, with the roles of the time of each storing, or
    /// of the administrator who asks.
    private func author(at target: Database, _ peer: PeerUser?, _ user: ListenerUser)
        -> PeerAuthor
    {
        let form = { @Sendable [weak self] (document: WireDocument) in
            guard let self, systemDatabase(named: target.name) == .users else { return document }
            return try UserDocument.arriving(document, configuration.settings.passwords)
        }
        return PeerAuthor(form: form) { [weak self] in
            guard self != nil else {
                throw ReplicationError(.cancelled, "The listener has stopped.")
            }
            let writer = try Self.refusing(target.name) {
                try peer?.user() ?? user
            }
            let caller = DesignCaller(writer, target.name, target)
            return { store in
                try DesignCaller.$current.withValue(caller) { try store() }
            }
        }
    }

    /// Refuses a step of a replication that a user may not do now, by the rules for the request that another server
    /// would make in its place.
    private func check(_ step: PeerAccess.Step, _ name: String, _ peer: PeerUser) throws {
        let path: (String, [String]) =
            switch step {
            case .information: ("GET", [])
            case .changes: ("GET", ["_changes"])
            case .revisions: ("POST", ["_bulk_get"])
            case .comparison: ("POST", ["_revs_diff"])
            case .storing, .storingDesign: ("POST", ["_bulk_docs"])
            case .checkpoint: ("GET", ["_local", "checkpoint"])
            case .savingCheckpoint: ("PUT", ["_local", "checkpoint"])
            case .syncing: ("POST", ["_ensure_full_commit"])
            }
        try Self.refusing(name) {
            let call = try authorise(path.0, name, path.1, as: peer.user())
            if step == .storingDesign, try !call.isDatabaseAdmin {
                throw call.refusal("You are not a db or server admin.")
            }
        }
    }

    /// Makes of a refusal of a request what another server's would be to a replication.
    private static func refusing<Result>(_ name: String, _ body: () throws -> Result) throws
        -> Result
    {
        do { return try body() } catch let failure as HTTPFailure {
            let sentence = "unauthorized to access or create database \(name): \(failure.reason)"
            switch failure.status {
            case 401: throw ReplicationError(.unauthorized, sentence)
            case 403:
                let wait = failure.headers["Retry-After"].flatMap { Double($0) }
                var error = ReplicationError(.forbidden, sentence, isTransient: wait != nil)
                error.retryAfter = wait
                throw error
            case 404: throw ReplicationError(.notFound, "could not open \(name)", status: 404)
            default: throw ReplicationError(.server, failure.reason, isTransient: true)
            }
        }
    }
}
