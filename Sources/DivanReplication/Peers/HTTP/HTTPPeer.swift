// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanHTTP
package import DivanJSON
package import DivanModel
internal import Synchronization

/// A database behind HTTP as one end of a replication: CouchDB's protocol, as its client.
///
///     information        GET  db
///     changes            GET  db/_changes?style=all_docs&since=…           POST with doc_ids or a selector,
///                                                                          and then with all of it in the body, too
///                        feed=normal, then longpoll, continuous, eventsource or a WebSocket
///     missingRevisions   POST db/_revs_diff
///     revisions          POST db/_bulk_get?revs=true                       else, and with attachments:
///                        GET  db/doc?rev=…&revs=true&attachments=true&atts_since=[…]
///                        POST db/_bulk_get?revs=true&attachments=true  of a Divan, short attachments
///     put                POST db/_bulk_docs  {"new_edits":false}           else, and with large attachments:
///                        PUT  db/doc?new_edits=false                       JSON or multipart/related
///     checkpoint, write  GET, PUT  db/_local/ID
///     ensureDurable      POST db/_ensure_full_commit
///
/// What a server lacks is found out once: after a 404 or 405 to `_bulk_get`, documents are fetched one by
/// one. The names of filters and their parameters stand in the query, where every server looks for them.
///
/// State: what the server has turned out to lack, how many documents are asked for together, and the open feed, each
/// guarded by its mutex.
package final class HTTPPeer: ReplicationPeer {
    /// What the server does not offer.
    struct Lacks {
        var bulkGet = false
        var fullCommit = false
        /// The kind of feed that was asked for; it is polled instead.
        var liveFeed = false
        /// Waiting for changes of single documents: it is asked again and again instead.
        var waitingForIDs = false
        /// A `_changes` with a body.
        var postedChanges = false
        /// Whether it is a Sync Gateway, as far as it has said.
        var isSyncGateway = false
        /// Whether it is a Divan, as far as it has said.
        var isDivan = false
        /// Whether it answers no `_bulk_get` that asks for the content of attachments.
        var contents = false
    }

    /// What is wanted of the changes feed besides its place.
    package struct Feed: Sendable {
        /// The filter's name.
        package var filter: String?
        /// Its parameters.
        package var parameters: JSONObject = [:]
        /// The only documents that take part.
        package var documentIDs: [DocumentID] = []
        /// A selector that documents must match.
        package var selector: JSONObject?
        /// Whether of each document only the winning revision is told of.
        package var isOfWinnersOnly = false
        /// Whether the content of attachments is fetched with the documents.
        package var bringsContents = true
        /// Whether `_removed` in a body counts whatever the server is, though any writer there may have put it there.
        package var believesRemovals = false
        /// How often the server shows that it is alive while it waits for changes.
        package var heartbeat = Duration.seconds(30)
        /// How it waits for changes.
        package var mode = ChangesFeedMode.automatic
        /// Where set, waiting is asking again after this time.
        package var poll: Duration?

        /// Makes a feed of everything.
        package init() {}

        /// The heartbeat as a request names it.
        var heartbeatMilliseconds: Int64 {
            heartbeat.components.seconds.multipliedSaturated(by: 1_000)
        }

        /// Which leaves of a document a row names.
        var style: String { isOfWinnersOnly ? "main_only" : "all_docs" }
    }

    /// Attachments up to so many bytes go inside a document's JSON, many documents in one request.
    static let inlineLimit = 64 * 1_024
    /// The bytes of all attachments of a document that go inside its JSON.
    static let inlineTotal = 512 * 1_024
    /// The bytes of one `_bulk_docs`.
    static let bulkBytes = 2 << 20
    /// Such requests at a time.
    static let bulks = 2
    /// The longest entry of an answer with many documents.
    static let longestEntry = 128 << 20
    /// The longest answer that holds no documents, and what it may take when it is parsed.
    static let (longestAnswer, answerCost) = (16 << 20, 192 << 20)
    /// Single documents fetched or stored at a time.
    static let singles = 4

    let connection: any WireConnection
    /// The database at this end, whose disk takes attachments as they arrive.
    let database: Database
    let feed: Feed
    /// Documents go without attachments that are longer, or that the server finds too large; nil to send all.
    let attachmentLimit: Int?
    /// The only documents that take part; empty for all.
    let wantedIDs: Set<DocumentID>
    let lacks = Mutex(Lacks())
    /// Reads long documents in turn.
    let longAnswers = LongAnswers()
    /// The bytes of documents after which the rest of what was asked for is left for the next time.
    let fetchBytes: Int
    /// What time it is, for how fast documents come.
    let now: @Sendable () -> ContinuousClock.Instant
    /// How many documents are asked for together.
    let fetchSize = Mutex(FetchSize())
    /// The feed that is open and waits.
    let live = Mutex<LiveFeed?>(nil)

    /// The URL without credentials.
    package var name: String { connection.name }

    /// Makes a peer.
    ///
    /// - Parameters:
    ///   - connection: Carries requests to the database.
    ///   - database: The database at this end.
    ///   - feed: What is wanted of the changes feed.
    ///   - attachmentLimit: The longest attachment that goes along where others are left out.
    ///   - fetchBytes: The bytes of documents after which the rest of what was asked for is left for the next time.
    ///   - now: What time it is, for how fast documents come.
    package init(
        _ connection: any WireConnection, for database: Database, feed: Feed = Feed(),
        attachmentLimit: Int? = nil, fetchBytes: Int = 4 << 20,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.connection = connection
        self.database = database
        self.feed = feed
        wantedIDs = Set(feed.documentIDs)
        self.attachmentLimit = attachmentLimit
        self.fetchBytes = fetchBytes
        self.now = now
    }

    // MARK: - The database

    /// Asks for the database's description.
    package func information() async throws -> PeerInformation {
        let response = try await connection.respond(to: WireRequest(.get, ""))
        if response.status == 404 {
            try await response.drain()
            return PeerInformation(exists: false)
        }
        noteServer(response)
        let value = try await object(response, "the database")
        return PeerInformation(
            exists: true, updateSequence: RemoteSequence(value["update_seq"]?.jsonValue()))
    }

    /// Takes what an answer says of the kind of the server.
    func noteServer(_ response: WireResponse) {
        guard let server = response.headers["Server"], Self.namesDivan(server) else { return }
        lacks.withLock { $0.isDivan = true }
    }

    /// Whether a `Server` field is Divan's: its own name in front, as the first releases have it, or behind CouchDB's.
    static func namesDivan(_ server: String) -> Bool {
        server.split(separator: " ").contains {
            $0.drop { $0 == "(" }.hasBytePrefix("Divan/")
        }
    }

    /// Makes the database.
    package func create(partitioned: Bool) async throws {
        let response = try await connection.respond(
            to: WireRequest(.put, "", query: partitioned ? [("partitioned", "true")] : []))
        // 412: another client has made it meanwhile.
        if response.status == 412 { return try await response.drain() }
        _ = try await object(response, "the new database")
    }

    /// Asks the server to sync; one that does not know how does it by itself.
    package func ensureDurable() async throws {
        if lacks.withLock({ $0.fullCommit }) { return }
        let response = try await connection.respond(
            to: WireRequest(.post, "_ensure_full_commit", body: .json(Array("{}".utf8))))
        if [400, 403, 404, 405, 501].contains(response.status) {
            lacks.withLock { $0.fullCommit = true }
            return try await response.drain()
        }
        _ = try await object(response, "_ensure_full_commit")
    }

    // MARK: - Answers

    /// The JSON object of a successful answer.
    func object(_ response: WireResponse, _ what: String) async throws -> PackedValue {
        guard (200...299).contains(response.status) else {
            throw ReplicationError(response, try await response.beginning(), what, at: name)
        }
        let bytes = try await response.bytes(limit: Self.longestAnswer)
        guard bytes.isJSONObject else { throw notJSON(what, response.status) }
        guard Self.isFit(bytes) else {
            throw ReplicationError(
                .invalidAnswer, "'\(name)' answers \(what) with too much JSON.",
                status: response.status, isTransient: true)
        }
        do { return try PackedValue(parsing: bytes) } catch {
            throw ReplicationError(
                .invalidAnswer, "'\(name)' answers \(what) with JSON that cannot be read. \(error)",
                status: response.status, isTransient: true)
        }
    }

    /// Whether an answer without documents may be parsed.
    static func isFit(_ bytes: [UInt8]) -> Bool {
        bytes.count < 1 << 20 || JSONWeight(bytes.span).packedCost <= answerCost
    }

    /// The error of an answer that does not even begin as a JSON object.
    func notJSON(_ what: String, _ status: Int) -> ReplicationError {
        ReplicationError(
            .invalidAnswer,
            "'\(name)' answers \(what) with something that is no JSON object: perhaps another "
                + "server, or a page to sign in to a network.",
            status: status, isTransient: true)
    }
}

extension [UInt8] {
    /// Whether a text begins as a JSON object does.
    var isJSONObject: Bool {
        first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 } == UInt8(ascii: "{")
    }
}

extension WireRequest.Body {
    /// A JSON text.
    static func json(_ text: [UInt8]) -> WireRequest.Body { .bytes(text, type: "application/json") }

    /// A JSON value.
    static func json(_ value: JSONValue) -> WireRequest.Body {
        var text: [UInt8] = []
        JSONWriter.append(value, to: &text)
        return .json(text)
    }
}
