// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanReplication

/// The server with which a listener keeps databases in step: the *hub* of this *edge*.
///
/// ```swift
/// var options = ListenerOptions()
/// options.hub = ListenerHub("https://hub.example.org:6984", databases: ["orders", "readings-*"])
/// options.hub?.authenticator = .session(name: "shop-7", password: "correct-horse")
/// ```
///
/// Each database is replicated continuously in both directions, by two documents of `_replicator` that the listener writes:
/// `hub-pull-NAME` and `hub-push-NAME`. They can be read, edited and watched as any others; they hold no credentials. A
/// database that one side lacks is made there. Without a network the edge serves all that it has, and goes on from its
/// checkpoints when there is one again, however long that took.
///
/// A database that is deleted at the hub stays here, and is no longer replicated. Where another server has taken
/// the place of the hub, what it lacks is made there again, from this edge.
///
/// `GET /_edge` tells how all that is doing. The hub is a CouchDB, a cluster of them, or a Divan.
public struct ListenerHub: Sendable {
    /// How many databases an edge follows at most.
    public static let mostDatabases = 10_000

    /// The hub's address, such as `https://hub.example.org:6984`, with the path in front of the names of its databases where
    /// there is one. A name and password in it are the authenticator's where that is not set.
    public var url: String
    /// Which databases are kept in step, by name or by pattern: `*` stands for any characters, `?` for one, and an exclamation
    /// mark in front leaves out what would be followed otherwise (`["*", "!scratch-*"]`).
    ///
    /// Patterns are compared with the databases of both sides, again and again, so new ones are followed, too. The hub must
    /// let the edge list its databases for that, which a CouchDB does for administrators. A pattern never means
    /// `_users` or another database that the server itself uses.
    public var databases: [String]
    /// Whether also each user of the edge has a database that is kept in step: `userdb-` with the name in hexadecimal, as
    /// CouchDB makes them for its users. At the edge it is for that user only.
    public var followsUsers = false
    /// How the edge tells the hub who it is.
    public var authenticator: ReplicationAuthenticator?
    /// Whether the hub's certificate is trusted.
    public var trust = TrustPolicy.system
    /// The name of a filter of the hub's design documents, which chooses what comes from there. All that is made at the
    /// edge goes to the hub in any case.
    public var filter: String?
    /// What the filter gets besides each document; see `ReplicationConfiguration.filterParameters`.
    public var filterParameters: JSONObject = [:]
    /// A selector that chooses what comes from the hub, in place of a filter.
    public var selector: JSONObject?
    /// Whether the edge takes over who may use each database: the hub's `_security`, which goes before what is set here.
    public var carriesSecurity = false
    /// Whether the edge takes over the hub's users, with new passwords and deletions. What is changed here does not go there.
    public var carriesUsers = false
    /// How often the edge looks for new databases, and whether all is as it should be.
    public var interval = Duration.seconds(30)
    /// How long a replication that has ended by a failure stays so.
    var patience = Duration.seconds(60)

    /// Makes a hub.
    ///
    /// - Parameters:
    ///   - url: Its address.
    ///   - databases: The databases to keep in step, by name or pattern.
    public init(_ url: String, databases: [String] = []) {
        self.url = url
        self.databases = databases
    }
}
