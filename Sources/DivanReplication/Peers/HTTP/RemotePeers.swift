// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import Synchronization

/// Peers behind a URL, made from a replication's settings.
enum RemotePeers {
    /// Makes the peer that speaks to a URL.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting` when the URL or a header is none.
    static func make(
        _ url: String, _ settings: ReplicationConfiguration, for local: Database, isPush: Bool
    ) throws -> HTTPPeer {
        HTTPPeer(
            try connection(url, settings), for: local,
            feed: isPush ? HTTPPeer.Feed() : feed(settings),
            attachmentLimit: isPush ? settings.oversizedAttachments.limit : nil)
    }

    /// What carries requests to a URL and to what lies below it.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting` when the URL or a header is none.
    static func connection(_ url: String, _ settings: ReplicationConfiguration) throws
        -> any WireConnection
    {
        let address = try address(url, settings)
        let headers = try headers(settings)
        let transport = try Transports.shared(settings, allowingHTTP2: settings.allowsHTTP2)
        let patient =
            settings.allowsHTTP2
            ? try Transports.shared(settings, allowingHTTP2: false) : transport
        var database = address
        database.user = nil
        var connection = TransportConnection(
            address, by: transport, patient: patient, headers: headers,
            authenticator: settings.authenticator?.authenticator(database))
        connection.cookies = settings.cookies
        connection.timeouts = timeouts(settings)
        connection.compression = settings.compressesRequests ? RequestCompression() : nil
        guard let user = settings.user(at: address) else { return connection }
        var place = database.replacingTarget(by: "/")
        place.user = user
        return PasswordConnection(
            base: connection, place: place, isAutomatic: settings.isAutomatic,
            rest: min(settings.retry.longestDelay, PasswordConnection.longestRest))
    }

    /// The fields that the app adds to each request.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting` where one is no field, or belongs to the protocol.
    static func headers(_ settings: ReplicationConfiguration) throws -> HTTPHeaders {
        var headers = HTTPHeaders()
        for (name, value) in settings.headers.sorted(by: { $0.key < $1.key }) {
            guard HTTPHeaders.isName(name), !value.utf8.contains(where: { $0 < 0x20 }) else {
                throw ReplicationError(.invalidSetting, "'\(name)' is no field of an HTTP header.")
            }
            guard !HTTPHeaders.isFraming(name) else {
                throw ReplicationError(
                    .invalidSetting,
                    "The field '\(name)' is set by the connection itself; leave it out of `headers`."
                )
            }
            headers.add(name, value)
        }
        return headers
    }

    /// Reads a URL, and checks that its servers can be judged as the settings say.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting`.
    static func address(_ url: String, _ settings: ReplicationConfiguration) throws -> HTTPURL {
        let address: HTTPURL
        do { address = try HTTPURL(typed: url) } catch {
            throw ReplicationError(.invalidSetting, "The URL of a replication is none: \(error)")
        }
        if let problem = settings.trust.problem(for: address) {
            throw ReplicationError(.invalidSetting, problem)
        }
        return address
    }

    private static func timeouts(_ settings: ReplicationConfiguration) -> HTTPTimeouts {
        var timeouts = settings.timeouts
        if let seconds = settings.customProperties["connection_timeout"]?.double, seconds > 0 {
            timeouts.connect = .milliseconds(Int64(clamping: min(seconds, 86_400) * 1_000))
        }
        return timeouts
    }

    /// What a pull wants of the changes feed.
    static func feed(_ settings: ReplicationConfiguration) -> HTTPPeer.Feed {
        var feed = HTTPPeer.Feed()
        feed.filter = settings.filter
        feed.parameters = settings.filterParameters
        if !settings.channels.isEmpty {
            feed.filter = "sync_gateway/bychannel"
            feed.parameters["channels"] = .string(settings.channels.joined(separator: ","))
        }
        feed.documentIDs = settings.documentIDs
        feed.selector = settings.selector
        feed.bringsContents = settings.downloadsAttachments
        feed.believesRemovals = settings.accessRemoval != .automatic
        feed.isOfWinnersOnly = settings.winningRevisionsOnly
        feed.mode = settings.changesFeed
        if settings.customProperties["websocket"]?.bool == false, feed.mode == .automatic {
            feed.mode = .longpoll
        }
        // Servers of this family refuse less than a second.
        if let heartbeat = settings.customProperties["heartbeat"]?.double {
            feed.heartbeat = .milliseconds(Int64(clamping: max(1_000, min(heartbeat, 3_600_000))))
        }
        if let poll = settings.customProperties["poll"]?.double, poll > 0 {
            feed.poll = .milliseconds(Int64(clamping: min(poll, 86_400_000)))
        }
        return feed
    }
}

/// The process's transports: one for each way to trust servers, so that no connection made under one is
/// used under another.
///
/// Only peers hold them: with the last replication that uses a transport, its thread and its
/// connections go.
private enum Transports {
    private struct Key: Hashable {
        var trust: TrustPolicy
        var certificate: ClientCertificate?
        var proxy: HTTPProxy
        var interface: String?
        var allowsHTTP2: Bool
    }

    private struct Entry {
        weak var transport: CurlTransport?
    }

    private static let transports = Mutex<[Key: Entry]>([:])

    static func shared(_ settings: ReplicationConfiguration, allowingHTTP2: Bool) throws
        -> CurlTransport
    {
        let key = Key(
            trust: settings.trust, certificate: settings.clientCertificate, proxy: settings.proxy,
            interface: settings.networkInterface, allowsHTTP2: allowingHTTP2)
        return try transports.withLock { transports in
            if let known = transports[key]?.transport, !known.isClosed { return known }
            var options = CurlTransport.Options()
            options.headers["User-Agent"] = "Divan/\(Manager.version)"
            options.trust = key.trust
            options.clientCertificate = key.certificate
            options.proxy = key.proxy
            options.interface = key.interface
            options.allowsHTTP2 = key.allowsHTTP2
            let made: CurlTransport
            do { made = try CurlTransport(options) } catch {
                throw ReplicationError(
                    .invalidSetting, "The network cannot be used: \(error)", underlying: error)
            }
            transports = transports.filter { $0.value.transport != nil }
            transports[key] = Entry(transport: made)
            return made
        }
    }
}
