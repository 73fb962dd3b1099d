// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanHTTP
public import DivanJSON
public import DivanModel
internal import DivanSystem

/// The other end of a replication.
public enum ReplicationEndpoint: Sendable {
    /// A database behind HTTP: `http://host:5984/name`, perhaps with `user:password@`.
    case url(String)
    /// Another database of this process.
    case database(Database)
}

extension ReplicationEndpoint: CustomStringConvertible {
    /// The URL without credentials and query, or the database's place.
    public var description: String {
        switch self {
        case .url(let url): HTTPURL.shown(url)
        case .database(let database): LocalPeer(database).name
        }
    }
}

/// When a replication tries again after a failure.
///
/// The wait is random between half and all of the delay, so that a thousand apps do not return at once
/// after their server did.
public struct RetryPolicy: Sendable, Hashable {
    /// The first delay, which doubles with every failure.
    public var firstDelay = Duration.seconds(2)
    /// The longest delay.
    public var longestDelay = Duration.seconds(600)
    /// How often a one-shot replication tries in all; a continuous one never gives up.
    public var maximumAttempts = 5
    /// How long after its first failure a one-shot replication still begins another try; nil for no limit.
    ///
    /// Both limits count from the last progress. Where the other end asks to be left alone for longer, the replication
    /// ends at once.
    public var patience: Duration? = .seconds(300)

    /// Makes the usual policy.
    public init() {}

    /// The delay before a try.
    ///
    /// - Parameters:
    ///   - failures: How many there were since something worked; at least 1.
    ///   - random: A number from 0 to 1.
    /// - Returns: The delay.
    package func delay(after failures: Int, random: Double) -> Duration {
        let longestDelay = max(.zero, longestDelay.bounded)
        var delay = max(.zero, firstDelay.bounded)
        for _ in 1..<max(1, min(failures, 64)) where delay < longestDelay { delay = delay * 2 }
        return min(delay, longestDelay) * (0.5 + random / 2)
    }
}

/// How a continuous pull waits for changes at a server.
///
/// A server that lacks the kind that is set is polled by longpoll. Every kind has heartbeats, so a connection
/// that has died in silence is noticed after two of them.
public enum ChangesFeedMode: String, Sendable, Hashable, CaseIterable {
    /// A WebSocket where the server is a Sync Gateway, longpoll elsewhere.
    case automatic
    /// One request for each piece of news: passes through any proxy.
    case longpoll
    /// One answer that goes on: news come without a new request. A proxy that collects answers breaks it.
    case continuous
    /// The same as server-sent events.
    case eventSource
    /// A WebSocket, as Sync Gateway has it.
    case webSocket
}

/// The settings of a replication. They are given when it is made, and do not change afterwards.
///
/// ```swift
/// let (push, pull) = database.sync(with: url) {
///     $0.authenticator = .session(name: "ann", password: password)
///     $0.trust = .pinnedCertificates([certificate])
/// }
///
/// var settings = ReplicationConfiguration()                   // or a value, for several replications
/// settings.selector = ["type": "task"]
/// let summary = try await database.makePullReplication(from: url, settings: settings).run()
/// ```
public struct ReplicationConfiguration: Sendable {
    /// Whether it goes on at the end of the feed and waits for changes.
    public var isContinuous = false
    /// Whether the target is made when it does not exist; push only.
    public var createTarget = false
    /// Whether `createTarget` makes the source of a pull, too: beside a push to the same database, either may be first.
    package var createsSource = false
    /// Whether the target, where it is made, is a partitioned database; see `DatabasePartition`.
    public var createsPartitioned = false
    /// The name of a filter: registered with the source database, or known to the server.
    public var filter: String?
    /// What the filter gets besides each document. A parameter cannot have a name that the changes feed uses itself, such
    /// as `since` or `limit`: the replication then ends with `.invalidSetting`.
    public var filterParameters: JSONObject = [:]
    /// Channels of a Sync Gateway; pull only, and in place of `filter`.
    public var channels: [String] = []
    /// A selector in Mango's JSON that documents must match, such as `["type": "task"]`.
    public var selector: JSONObject?
    /// The only documents that take part; empty for all.
    public var documentIDs: [DocumentID] = []
    /// A place in the source's feed, as its `_changes` tells it, after which to begin the first time; nil for the
    /// beginning. It is part of what a checkpoint belongs to.
    public var startingSequence: String?
    /// Whether of each document only the winning revision goes, so that the target has no conflicts.
    public var winningRevisionsOnly = false
    /// Whether both ends keep how far it came. Without that each run compares everything anew.
    public var usesCheckpoints = true
    /// Whether the first run after each start begins at the beginning, whatever the checkpoint says, and so tries again
    /// all that was refused. What both ends have is only compared. Set it for once, not for good.
    public var resetsCheckpoint = false
    /// How a continuous pull waits for changes.
    public var changesFeed = ChangesFeedMode.automatic
    /// Whether a pull brings the content of attachments along with their documents. Without that the documents say
    /// what attachments they have, and `Replication.downloadAttachment(_:progress:)` brings one when it is wanted.
    public var downloadsAttachments = true
    /// Whether a push purges here each revision that the other end has, once it is safe there: for documents that
    /// are only collected here. A pull from the same place would bring them back.
    public var purgesPushed = false
    /// Whether a push takes all that it offers for new, and sends it without asking first what the other end lacks.
    /// What it has already is sent for nothing, and does no harm.
    public var assumesAllNew = false
    /// What becomes of a document that has an attachment too large for the server; push to a URL only.
    public var oversizedAttachments = OversizedAttachments.keepDocumentBack
    /// How many changes are read and compared at a time: 1 to 10,000.
    public var changesPerPage = 1_000
    /// How many revisions are fetched together: 1 to 1,000.
    public var revisionsPerFetch = 100
    // Not by bytes: the app names them, and HTTP compares them without regard to case.
    /// Fields added to each HTTP request.
    public var headers: [String: String] = [:]
    /// How it tells the server who it is; a name and password in the URL will do, too.
    public var authenticator: ReplicationAuthenticator?
    /// Whether longer requests of JSON are sent as gzip: worth it where the way to the server is slow. A server that
    /// does not take them, and says so by 415, gets them plain from then on.
    public var compressesRequests = false
    /// Where cookies are kept that the server sets, and taken from that the app sets; nil for none. Several
    /// replications may share a jar.
    public var cookies: HTTPCookieJar?
    /// Which servers' certificates are trusted.
    public var trust = TrustPolicy.system
    /// The certificate that the server may ask for.
    public var clientCertificate: ClientCertificate?
    /// Through which proxy requests go.
    public var proxy = HTTPProxy.environment
    /// The network interface that requests leave by, such as `eth0`; nil for whichever leads there. A server
    /// that cannot be reached by it counts as unreachable.
    public var networkInterface: String?
    /// Whether HTTP/2 may be used over TLS where the server offers it: many requests on one connection. Attachments
    /// and feeds go by HTTP/1.1 all the same, since one that waits would hold up its neighbours.
    public var allowsHTTP2 = false
    /// How long to wait for the server.
    public var timeouts = HTTPTimeouts()
    /// What identifies the other end in checkpoints, whatever its address. Where several users of a server that shows each other
    /// documents share the database, and sign in with tokens, cookies or certificates, give each another one.
    public var remoteUUID: String?
    /// Settings by the names that Couchbase Lite 1.x had: `heartbeat` and `poll` (milliseconds),
    /// `connection_timeout` (seconds), `websocket` (false: never by itself), `remoteUUID`, `purgePushed`, `allNew`,
    /// `attachments` (false: they come later), and `reset` for `resetsCheckpoint`. Others
    /// are kept and mean nothing; so does `trust_reachability`, since every replication tries, whatever the system
    /// says of the network.
    public var customProperties: NameMap<JSONValue> = [:]
    /// Changes the properties of each document on its way, such as to encrypt some of them.
    ///
    /// It gets `_id`, `_rev` and `_attachments` besides, and what it returns for them is passed over. A document for which it
    /// throws is offered to it again by each later run.
    public var propertyTransformer: (@Sendable (JSONObject) throws -> JSONObject)?
    /// Ends conflicts as they arrive; pull only. What it throws makes the conflict an error of its document,
    /// `.conflictUnresolved`, and each run tries once again.
    public var conflictResolver: (any ConflictResolver)?
    /// What becomes of documents that the other end no longer lets this one see, and whose word counts; pull only.
    public var accessRemoval = AccessRemoval.automatic
    /// When it tries again after a failure.
    public var retry = RetryPolicy()
    /// How often a checkpoint is saved while it runs: every 10 milliseconds at most.
    public var checkpointInterval = Duration.seconds(5)
    /// How long a replication that is stopped may still take, to store what is on its way and to save a last checkpoint at
    /// both ends; what is not done by then is broken off, and the next run does it again.
    public var timeToStop = Duration.seconds(2)
    /// What the filter's function is now, where that is known: another one begins anew.
    package var filterVersion: String?
    /// In whose name the database is used; nil for the app's own.
    package var localAccess: PeerAccess?
    /// In whose name a database of this process at the other end is used; nil for the app's own.
    package var remoteAccess: PeerAccess?
    /// In whose name the database's rules are asked about what is pulled; nil for the app's own.
    package var localAuthor: PeerAuthor?
    /// In whose name those of a database of this process at the other end are; nil for the app's own.
    package var remoteAuthor: PeerAuthor?
    /// Whether it was begun by itself, or tries again: then a name and password that the server has called wrong rest for a
    /// while.
    package var isAutomatic = false
    /// What other pulls into the database fetch at the same time, so that a revision comes once; pull only.
    package var arriving: ArrivingRevisions?

    /// Makes the usual settings: a one-shot replication of everything.
    public init() {}
}

extension ReplicationConfiguration {
    /// The settings with those that have their old names only.
    var withOldNames: ReplicationConfiguration {
        var settings = self
        if customProperties["purgePushed"]?.bool ?? false { settings.purgesPushed = true }
        if customProperties["reset"]?.bool ?? false { settings.resetsCheckpoint = true }
        if customProperties["allNew"]?.bool ?? false { settings.assumesAllNew = true }
        if customProperties["attachments"]?.bool == false { settings.downloadsAttachments = false }
        return settings
    }

    /// How much may be under way, once the settings are found to be good.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting`, also for settings that contradict each other.
    var limits: ReplicationEngine.Limits {
        get throws {
            guard (1...10_000).contains(changesPerPage), (1...1_000).contains(revisionsPerFetch)
            else {
                throw ReplicationError(
                    .invalidSetting,
                    "A page has 1 to 10,000 changes, and a fetch 1 to 1,000 revisions.")
            }
            guard !purgesPushed || oversizedAttachments == .keepDocumentBack else {
                throw ReplicationError(
                    .invalidSetting,
                    "What was pushed cannot be purged where attachments are left out: they would be lost."
                )
            }
            try checkChoice()
            try checkNesting()
            for id in documentIDs {
                do { _ = try id.checked() } catch let error as DatabaseError {
                    throw ReplicationError(.invalidSetting, "documentIDs: \(error.message)")
                }
            }
            var limits = ReplicationEngine.Limits()
            limits.page = changesPerPage
            limits.revisionsPerFetch = revisionsPerFetch
            return limits
        }
    }

    /// Refuses parameters that no checkpoint can be named after.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting`.
    func checkNesting() throws {
        let most = JSONValue.deepestStored
        guard JSONValue.object(filterParameters).isNested(atMost: most),
            JSONValue.object(selector ?? [:]).isNested(atMost: most)
        else {
            throw ReplicationError(
                .invalidSetting,
                "The parameters of the filter, or the selector, nest deeper than \(most) levels.")
        }
    }

    /// Refuses two ways to choose documents: a server follows one of them, and a checkpoint knows one.
    private func checkChoice() throws {
        let byChannel = "sync_gateway/bychannel"
        var ways: [String] = []
        if !documentIDs.isEmpty { ways.append("document IDs") }
        if selector != nil { ways.append("a selector") }
        if let filter, channels.isEmpty || !filter.hasSameBytes(as: byChannel) {
            ways.append("a filter")
        }
        if !channels.isEmpty { ways.append("channels") }
        guard ways.count > 1 else { return }
        throw ReplicationError(
            .invalidSetting,
            "A replication chooses documents in one way, and not by \(ways.joined(separator: " and ")); leave out all but one."
        )
    }
}
