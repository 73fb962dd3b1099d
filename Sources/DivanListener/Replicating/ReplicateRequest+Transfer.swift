// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanReplication

// How documents travel: where they begin, through which proxy, how long to wait.
extension ReplicateRequest {
    static func readTransfer(
        _ body: JSONObject, _ source: End, _ target: End,
        _ settings: inout ReplicationConfiguration
    ) throws {
        if let since = body["since_seq"] {
            guard let sequence = since.string ?? since.int64.map({ String($0) }) else {
                throw malformed("since_seq", "a sequence")
            }
            settings.startingSequence = sequence
        }
        settings.winningRevisionsOnly = try flag(body, "winning_revs_only")
        settings.usesCheckpoints = try flag(body, "use_checkpoints", default: true)
        if let interval = try milliseconds(body, "checkpoint_interval") {
            settings.checkpointInterval = interval
        }
        if let timeout = try milliseconds(body, "connection_timeout") {
            // What CouchDB calls so is how long it waits for anything.
            settings.timeouts.connect = timeout
            settings.timeouts.head = timeout
        }
        try readProxy(body, source, target, &settings)
    }

    /// `source_proxy` and `target_proxy`, of which the one counts whose end is behind a URL, or `proxy` for either.
    private static func readProxy(
        _ body: JSONObject, _ source: End, _ target: End,
        _ settings: inout ReplicationConfiguration
    ) throws {
        if body["proxy"] != nil, body["source_proxy"] != nil || body["target_proxy"] != nil {
            throw HTTPFailure.badRequest(
                "`proxy` is mutually exclusive with `source_proxy` and `target_proxy`.")
        }
        for name in ["proxy", "source_proxy", "target_proxy"] {
            guard let value = body[name], value != "" else { continue }
            guard let text = value.string, let proxy = proxy(text) else {
                throw malformed(name, "the URL of a proxy, with http or socks5")
            }
            if name == "source_proxy", case .local = source { continue }
            if name == "target_proxy", case .local = target { continue }
            settings.proxy = proxy
        }
    }

    private static func proxy(_ text: String) -> HTTPProxy? {
        let socks = text.afterBytePrefix("socks5://")
        let isSocks = socks != nil
        // Everything but the scheme is written alike.
        guard isSocks || text.hasBytePrefix("http://"),
            let url = try? HTTPURL(typed: socks.map { "http://" + $0 } ?? text)
        else { return nil }
        let isNamed = text.contains(":\(url.port)")
        let port = isSocks && !isNamed ? 1_080 : url.port
        return .server("\(isSocks ? "socks5" : "http")://\(url.host):\(port)", user: url.user)
    }

    private static func milliseconds(_ body: JSONObject, _ name: String) throws -> Duration? {
        guard let value = body[name] else { return nil }
        guard let number = value.int64, number > 0 else {
            throw malformed(name, "a positive number of milliseconds")
        }
        return .milliseconds(number)
    }
}
