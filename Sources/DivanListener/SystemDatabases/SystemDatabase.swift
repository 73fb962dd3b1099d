// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON

/// The databases in which a listener looks for users and for replications, as CouchDB does.
///
/// They are databases like others, with feeds, revisions and replication of their own, and lie beside
/// them. They come into being when an administrator first asks for them. Only administrators may use
/// them; where a `_security` of theirs lets others in, those see and change the documents of users
/// that are their own.
enum SystemDatabase: String, Sendable, CaseIterable {
    /// A document for each user; see `UserDocument`.
    case users = "_users"
    /// A document for each replication; see `ReplicatorDatabase`.
    case replicator = "_replicator"

    /// Checks a change of a document, and makes of it what is stored.
    ///
    /// - Throws: `HTTPFailure` 403 when it makes no sense, or is not for this user.
    func prepared(
        _ id: String, _ received: ReceivedDocument, by user: ListenerUser, existing: Document?
    ) throws -> ReceivedDocument {
        guard !id.hasBytePrefix("_design/"), !received.isDeleted else { return received }
        switch self {
        case .users:
            return try UserDocument.prepared(id, received, by: user, existing: existing)
        case .replicator:
            let body = received.body.jsonValue().object ?? [:]
            do {
                _ = try ReplicateRequest(ReplicatorDatabase.request(in: body), hosts: [])
            } catch let failure as HTTPFailure {
                // What is asked for and not served is told in the document's state.
                guard failure.status != 501 else { return received }
                throw HTTPFailure.forbidden(failure.reason)
            }
            return received
        }
    }
}

extension Call {
    /// The system database that the path names; nil for the app's.
    var systemDatabase: SystemDatabase? { resource.database.flatMap(SystemDatabase.init) }

    /// A change of a document as it is stored: in a system database more is asked of it.
    func prepared(_ id: String, _ received: ReceivedDocument) throws -> ReceivedDocument {
        guard let systemDatabase else { return received }
        // URLs under this name mean databases here.
        if systemDatabase == .replicator, let host = headers["Host"] { site.note(host: host) }
        return try systemDatabase.prepared(
            id, received, by: user, existing: try database.document(withID: id))
    }

    /// Refuses what somebody who is no administrator may not do in a system database.
    func checkSystemAccess(_ route: Route, isMember: Bool) throws {
        guard !user.isAdmin, let systemDatabase else { return }
        let isOwn =
            systemDatabase == .users && route.pattern.hasPrefix("/{db}/{doc}")
            && user.name.map { name(0) == UserDocument.prefix + $0 } ?? false
        guard isMember, isOwn, try !SecurityObject.stored(in: database).isEmpty else {
            throw user.name == nil
                ? HTTPFailure.unauthorized("You are not a server admin.")
                : HTTPFailure.forbidden("Only admins can access system databases.")
        }
    }
}
