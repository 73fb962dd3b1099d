// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import FoundationEssentials

// How an app makes replications.
extension Database {
    /// Makes a replication that brings this database's changes to another one. It is not started.
    ///
    /// ```swift
    /// let push = database.createPushReplication(to: url)
    /// push.start()
    /// await push.finished()
    /// ```
    ///
    /// - Parameter url: `http://host:5984/name`, perhaps with `user:password@`.
    /// - Returns: A new replication.
    public func createPushReplication(to url: URL) -> Replication {
        Replication(self, .url(url.absoluteString), .push)
    }

    /// Makes a replication to a URL; see `createPushReplication(to:)`.
    public func createPushReplication(to url: String) -> Replication {
        Replication(self, .url(url), .push)
    }

    /// Makes a replication to another database of this process; see `createPushReplication(to:)`.
    public func createPushReplication(to database: Database) -> Replication {
        Replication(self, .database(database), .push)
    }

    /// Makes a replication that brings another database's changes to this one. It is not started.
    public func createPullReplication(from url: URL) -> Replication {
        Replication(self, .url(url.absoluteString), .pull)
    }

    /// Makes a replication from a URL; see `createPullReplication(from:)`.
    public func createPullReplication(from url: String) -> Replication {
        Replication(self, .url(url), .pull)
    }

    /// Makes a replication from another database of this process; see `createPullReplication(from:)`.
    public func createPullReplication(from database: Database) -> Replication {
        Replication(self, .database(database), .pull)
    }

    /// Starts a push and a pull that go on for ever: this database and the other one stay the same.
    ///
    /// ```swift
    /// let (push, pull) = database.sync(with: "https://example.com/notes")
    /// ```
    ///
    /// - Parameter url: The other database.
    /// - Returns: Both replications, started.
    @discardableResult
    public func sync(with url: String) -> (push: Replication, pull: Replication) {
        sync(with: .url(url))
    }

    /// Starts a push and a pull that go on for ever; see `sync(with:)`.
    @discardableResult
    public func sync(with url: URL) -> (push: Replication, pull: Replication) {
        sync(with: .url(url.absoluteString))
    }

    /// Starts a push and a pull between two databases of this process; see `sync(with:)`.
    @discardableResult
    public func sync(with database: Database) -> (push: Replication, pull: Replication) {
        sync(with: .database(database))
    }

    private func sync(with remote: ReplicationEndpoint) -> (push: Replication, pull: Replication) {
        var settings = ReplicationConfiguration()
        settings.isContinuous = true
        let push = Replication(self, remote, .push, settings)
        let pull = Replication(self, remote, .pull, settings)
        push.start()
        pull.start()
        return (push, pull)
    }
}
