// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

/// Peers behind a URL.
enum RemotePeers {
    /// Makes the peer that speaks to a URL.
    static func make(
        _ url: String, _ settings: ReplicationConfiguration, for database: Database, isPush: Bool
    ) throws -> any ReplicationPeer {
        throw ReplicationError(
            .invalidSetting,
            "No transport is built in for '\(ReplicationEndpoint.withoutCredentials(url))'.")
    }
}
