// SPDX-License-Identifier: Apache-2.0

public import DivanDesign
public import DivanJSON

/// Who gets in.
public enum ListenerAccess: Sendable {
    /// The users of the directory's `listener.json`, which `divan users` edits, and those given here,
    /// who may do everything, by name and password.
    case users(NameMap<String> = [:])
    /// Every client that can reach the loopback interface of this machine may do everything. The listener
    /// does not start on another interface then, and refuses requests that a page in a browser may
    /// have had made under another name.
    case everybodyOnLoopback
}

/// Bounds on what a client may cost.
public struct ListenerLimits: Sendable {
    /// The longest body of a request, in bytes: CouchDB's default, 4 GiB.
    public var requestBody = 4 << 30
    /// The longest body that is read as JSON, in bytes, also after decoding gzip.
    public var jsonBody = 64 << 20
    /// The longest body that asks for something (`_find`, `_all_docs`, `_revs_diff` and the like) of a user who is no
    /// administrator, in bytes, after decoding gzip.
    public var queryBody = 8 << 20
    /// The most values (arrays, objects, their elements and members) in such a body.
    public var queryValues = 500_000
    /// The memory that the bodies of all requests together may take while they are received, decoded, parsed and
    /// answered, in bytes: half of the machine's memory unless set, at least 256 MB and at most 1 GB. A request that
    /// finds no room waits in turn, ten seconds at most, and is answered 503; one that could never fit is answered 413.
    public var memory = MemoryBudget.standardCapacity
    /// The longest attachment, in bytes as it is sent: unlimited unless set.
    public var attachment = Int.max
    /// The longest request line with header fields, in bytes: 16 MB at most, whatever is set.
    public var head = 12 << 10
    /// The most connections at once, and no more than three quarters of the descriptors that the process may have. For a
    /// new one beyond them the one is closed that has been silent for the longest time, of the network that has the most.
    public var connections = 4_096
    /// The most connections at once from one IPv4 address or one IPv6 network of 64 bits, made room for in the same way.
    public var connectionsPerAddress = 1_024
    /// The addresses of proxies that speak for many clients, such as `10.0.0.2`: `connectionsPerAddress` is not for them.
    public var trustedProxies: NameSet = []
    /// How long a new connection may take to send the head of its first request.
    public var firstRequest = Duration.seconds(10)
    /// How long a connection may be silent between requests, or while it sends a head.
    public var idle = Duration.seconds(60)
    /// How slowly a body may come, in bytes a second, after its grace.
    public var slowestBody = 1_024
    /// How slowly a client may take an answer that lies ready for it, in bytes a second, after the same grace.
    public var slowestAnswer = 1_024
    /// How long a body may take however little has come, or an answer however little was taken.
    public var bodyGrace = Duration.seconds(30)
    /// How many wrong passwords in a row for a user, from one address, lock the user out from there. Ten times as many
    /// for any users lock out all from there whose passwords were not right lately.
    public var passwordAttempts = 5
    /// For how long.
    public var passwordLockout = Duration.seconds(300)
    /// How many requests that read one database are worked on at once, apart from feeds that wait: 1 at least and 1,024 at
    /// most, whatever is set. The numbers of all threads follow it.
    public var workers = 8

    /// The nearest number of workers that there can be: each may need a thread.
    var workerCount: Int { min(max(1, workers), 1_024) }
    /// The nearest length of a head that there can be: each connection takes as much memory at once.
    var headLength: Int { min(max(0, head), 16 << 20) }

    /// The defaults.
    public init() {}
}

/// How a listener listens, and to whom.
public struct ListenerOptions: Sendable {
    /// The address to listen on: `127.0.0.1` unless set; `0.0.0.0` or `::` for all interfaces.
    public var host = "127.0.0.1"
    /// The port; 0 for any that is free. With a device, that is the one that it had before, unless another program has taken it.
    public var port: UInt16 = 0
    /// Who gets in.
    public var access = ListenerAccess.users()
    /// The keys of bearer tokens that users may show besides passwords; nil for none.
    public var tokens: ListenerTokens?
    /// A proxy in front that says who its clients are; nil for none.
    public var proxy: ListenerProxyAuthentication?
    /// Whether every change is refused.
    public var readOnly = false
    /// How many revision IDs of each branch the databases keep that clients make; nil for 1,000. Clients change it by
    /// `_revs_limit`, apps by `Database.setRevisionLimit(_:)`. A listener with less than 1 does not start.
    public var revisionLimit: Int?
    /// Whether places in changes feeds are numbers, for clients of Couchbase Lite 1.x, instead of the opaque texts of CouchDB.
    /// Both are read in any case.
    public var numberSequences = false
    /// The name that the listener has as a node, of the form `name@host`, in `_membership`, in the paths below `_node` and in
    /// what it tells of tasks: for scripts that know a CouchDB by its name. `_local` is a name of every node. Unless set, it is
    /// that of a CouchDB without a cluster.
    public var nodeName = "nonode@nohost"
    /// The server with which databases are kept in step; nil for none.
    public var hub: ListenerHub?
    /// The certificate, to serve HTTPS; nil for HTTP.
    public var tls: ListenerTLS?
    /// The certificates that clients are asked for over TLS; nil to ask for none.
    public var clientCertificates: ListenerClientCertificates?
    /// The devices that are known by their keys; nil for none.
    package var devices: (any ListenerDevices)?
    /// Which pages of other origins may use it from a browser; nil for none.
    public var cors: ListenerCORS?
    /// The console that it serves at `/_utils/`, such as `.divan` of the product DivanConsole; nil for none.
    ///
    /// With a console the sessions that begin by `POST /_session` count only on pages of the listener itself, and administrators
    /// may read the last entries of the process's log by `GET /_divan/log`.
    public var console: ListenerConsole?
    /// Whether clients cannot change the configuration (`_node/…/_config`), and what they have set before does not count.
    ///
    /// Unless set, administrators set up by HTTP what CouchDB has in its configuration, such as pages of other origins. What they
    /// set is kept beside the databases and goes before these options. The limits can be lowered in this way only.
    public var fixesConfiguration = false
    /// Whether the console may sign a browser in by a key in its address.
    package var opensByKey = false
    /// Bounds on what a client may cost.
    public var limits = ListenerLimits()
    /// What the app has to say about who may do what.
    public var authorization = ListenerAuthorization()
    /// What runs the functions of design documents, such as a `JavaScriptRuntime`; without one they answer 501.
    ///
    /// Databases that the listener serves then also ask the validation functions of their design documents about each new
    /// revision, by a client, the app or a replication: see `DesignDocuments.enable(_:validates:)`.
    public var scripts: [any ScriptRuntime] = []
    /// Whether clients may store design documents with a `validate_doc_update` that nothing runs. Each revision is then
    /// told of by a warning in the log, and what the function forbids is stored. Refused with 501 unless set.
    ///
    /// A validation function that the app registers under the ID of the design document, such as `_design/auth`, stands
    /// for the function in it, so that such a document is stored like any other. What arrives by a replication is stored
    /// in any case; see `Database.unrunValidations()`.
    public var acceptsUnrunValidation = false
    /// Whether `_find` sorts by whatever a client names, as queries of the database do. Otherwise it needs an index that
    /// has the order, as in CouchDB, and is refused without one (400 `no_usable_index`).
    public var sortsWithoutIndex = false
    /// What clients are told when they are asked for a password; pages in browsers are not asked.
    public var realm = "Divan"
    // Not by bytes: names of header fields are ASCII, which is checked when the listener is made.
    /// Header fields added to every answer, such as `Strict-Transport-Security`. Fields that an answer
    /// has anyway keep their values.
    public var responseHeaders: [String: String] = [:]

    /// The defaults.
    public init() {}
}
