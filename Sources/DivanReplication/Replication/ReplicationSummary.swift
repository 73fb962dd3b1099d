// SPDX-License-Identifier: Apache-2.0

/// What a replication has done since it was started: the result of `Replication.run()`.
///
/// ```swift
/// let summary = try await database.makePullReplication(from: url).run()
/// print(summary.transferred, "documents arrived,", summary.refused, "were refused")
/// ```
public struct ReplicationSummary: Sendable {
    /// How many document errors a summary lists.
    static let errorLimit = 100

    /// How many changes were compared with the other end. A document that both ends have already counts here only.
    public var examined = 0
    /// How many documents the target lacked, and has now.
    public var transferred = 0
    /// How many documents were not transferred and are not tried again until they change: the target does not
    /// accept them, or the content of an attachment is not here. Those at which an end has only failed count, too, and are
    /// tried again by the next run.
    public var refused = 0
    /// The errors of documents that have not been transferred, or not completely, and of conflicts that the resolver did
    /// not end (`.conflictUnresolved`): the newest hundred, oldest first.
    /// Each has a `documentID`.
    public var documentErrors: [ReplicationError] = []
}
