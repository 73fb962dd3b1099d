// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase

// How an app makes replications. `push`, `pull` and `sync` start what they make, the others do not.
extension Database {
    /// Starts continuous replications in both directions: this database and the other one stay the same.
    ///
    /// ```swift
    /// let (push, pull) = database.sync(with: "https://example.com/notes") {
    ///     $0.authenticator = .session(name: "ann", password: password)
    /// }
    /// ```
    ///
    /// Both get the same settings, with `isContinuous` set. Settings for one direction are ignored in the other one; for
    /// different filters, use `push(to:settings:configure:)` and `pull(from:settings:configure:)`. To sync once, set
    /// `isContinuous` to false in the closure and wait for both with `run()`.
    ///
    /// - Parameters:
    ///   - other: The other database: a URL as `URL` or `String`, or a `Database` of this process.
    ///   - settings: The settings to begin with.
    ///   - configure: Changes these settings before anything starts.
    /// - Returns: Both replications, started. They run on when they are not kept.
    /// - Throws: What `configure` throws. Errors of a replication are in its `lastError` and its `statuses`.
    @discardableResult
    public func sync(
        with other: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration(),
        configure: (inout ReplicationConfiguration) throws -> Void
    ) rethrows -> (push: Replication, pull: Replication) {
        var settings = settings
        settings.isContinuous = true
        try configure(&settings)
        let remote = other.replicationEndpoint
        let push = Replication(self, remote, .push, settings)
        let pull = Replication(self, remote, .pull, settings)
        push.startAtOnce()
        pull.startAtOnce()
        return (push, pull)
    }

    /// Starts a replication that brings this database's changes to another one.
    ///
    /// ```swift
    /// let push = database.push(to: url) { $0.isContinuous = true }
    /// ```
    ///
    /// Without `isContinuous` it ends when everything is transferred; `try await push.run()` waits for that, and throws
    /// the error that ended it.
    ///
    /// - Parameters:
    ///   - target: The other database: a URL as `URL` or `String`, or a `Database` of this process.
    ///   - settings: The settings to begin with.
    ///   - configure: Changes these settings before it starts.
    /// - Returns: The replication, started. It runs on when it is not kept.
    /// - Throws: What `configure` throws. Errors of the replication are in its `lastError` and its `statuses`.
    @discardableResult
    public func push(
        to target: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration(),
        configure: (inout ReplicationConfiguration) throws -> Void
    ) rethrows -> Replication {
        let push = try makePushReplication(to: target, settings: settings, configure: configure)
        push.startAtOnce()
        return push
    }

    /// Starts a replication that brings another database's changes to this one; see `push(to:settings:configure:)`.
    ///
    /// ```swift
    /// let pull = database.pull(from: url) {
    ///     $0.isContinuous = true
    ///     $0.selector = ["owner": "ann"]
    /// }
    /// ```
    @discardableResult
    public func pull(
        from source: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration(),
        configure: (inout ReplicationConfiguration) throws -> Void
    ) rethrows -> Replication {
        let pull = try makePullReplication(from: source, settings: settings, configure: configure)
        pull.startAtOnce()
        return pull
    }

    /// Makes a replication that brings this database's changes to another one, and does not start it.
    ///
    /// ```swift
    /// let push = database.makePushReplication(to: url) { $0.createTarget = true }
    /// let token = push.addDocumentListener { print($0.id) }
    /// try await push.run()
    /// ```
    ///
    /// - Parameters:
    ///   - target: The other database: a URL as `URL` or `String`, or a `Database` of this process.
    ///   - settings: The settings to begin with.
    ///   - configure: Changes these settings.
    /// - Returns: A new replication. Call `run()` or `start()`.
    /// - Throws: What `configure` throws.
    public func makePushReplication(
        to target: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration(),
        configure: (inout ReplicationConfiguration) throws -> Void
    ) rethrows -> Replication {
        var settings = settings
        try configure(&settings)
        return Replication(self, target.replicationEndpoint, .push, settings)
    }

    /// Makes a replication that brings another database's changes to this one, and does not start it; see
    /// `makePushReplication(to:settings:configure:)`.
    public func makePullReplication(
        from source: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration(),
        configure: (inout ReplicationConfiguration) throws -> Void
    ) rethrows -> Replication {
        var settings = settings
        try configure(&settings)
        return Replication(self, source.replicationEndpoint, .pull, settings)
    }
}

// The same without a closure.
extension Database {
    /// Starts continuous replications in both directions; see `sync(with:settings:configure:)`.
    @discardableResult
    public func sync(
        with other: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration()
    ) -> (push: Replication, pull: Replication) {
        sync(with: other, settings: settings) { _ in }
    }

    /// Starts a push; see `push(to:settings:configure:)`.
    @discardableResult
    public func push(
        to target: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration()
    ) -> Replication {
        push(to: target, settings: settings) { _ in }
    }

    /// Starts a pull; see `pull(from:settings:configure:)`.
    @discardableResult
    public func pull(
        from source: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration()
    ) -> Replication {
        pull(from: source, settings: settings) { _ in }
    }

    /// Makes a push that is not started; see `makePushReplication(to:settings:configure:)`.
    public func makePushReplication(
        to target: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration()
    ) -> Replication {
        makePushReplication(to: target, settings: settings) { _ in }
    }

    /// Makes a pull that is not started; see `makePullReplication(from:settings:configure:)`.
    public func makePullReplication(
        from source: some ReplicationAddress,
        settings: ReplicationConfiguration = ReplicationConfiguration()
    ) -> Replication {
        makePullReplication(from: source, settings: settings) { _ in }
    }
}
