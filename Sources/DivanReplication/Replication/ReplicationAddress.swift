// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import FoundationEssentials

/// What names the other end of a replication: a `URL`, a `String` with a URL, or another `Database` of this process.
///
/// ```swift
/// database.sync(with: "https://ann:secret@example.com/notes")
/// database.pull(from: otherDatabase)
/// ```
public protocol ReplicationAddress {
    /// The other end.
    var replicationEndpoint: ReplicationEndpoint { get }
}

extension URL: ReplicationAddress {
    /// The database at this URL.
    public var replicationEndpoint: ReplicationEndpoint { .url(absoluteString) }
}

extension String: ReplicationAddress {
    /// The database at this URL: `http://host:5984/name`, perhaps with `user:password@`.
    public var replicationEndpoint: ReplicationEndpoint { .url(self) }
}

extension Database: ReplicationAddress {
    /// This database.
    public var replicationEndpoint: ReplicationEndpoint { .database(self) }
}

extension ReplicationEndpoint: ReplicationAddress {
    /// This endpoint.
    public var replicationEndpoint: ReplicationEndpoint { self }
}
