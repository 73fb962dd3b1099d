// SPDX-License-Identifier: Apache-2.0

/// How a replication stands, as a server tells it of those that it runs for others.
package struct ReplicationReport: Sendable, Equatable {
    /// What became of revisions.
    package var counts = RevisionCounts()
    /// How far the feed was read; nil for not at all.
    package var read: RemoteSequence?
    /// How far everything is safe in the target.
    package var safe: RemoteSequence?
    /// How far the last checkpoint says so.
    package var checkpointed: RemoteSequence?
}
