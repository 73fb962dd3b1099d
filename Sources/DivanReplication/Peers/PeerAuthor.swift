// SPDX-License-Identifier: Apache-2.0

/// In whose name a replication stores revisions in a database of this process, for rules that ask
/// who writes.
///
///     before a transaction     scope() ──► who it is now, with the roles of now
///     in the transaction       that runs what stores the revisions
package struct PeerAuthor: Sendable {
    /// Runs what stores revisions, in the author's name.
    package typealias Scope = @Sendable (() throws -> Void) throws -> Void

    let scope: @Sendable () throws -> Scope
    let form: @Sendable (WireDocument) throws -> WireDocument

    /// Makes an author.
    ///
    /// - Parameters:
    ///   - form: Makes of a document that arrives what is stored under its revision ID; where it throws, that document is
    ///     refused.
    ///   - scope: Finds out who it is, before each transaction, and gives what runs in it. It may
    ///     block, and throws `ReplicationError` where the author's credentials are no longer right.
    package init(
        form: @escaping @Sendable (WireDocument) throws -> WireDocument = { $0 },
        _ scope: @escaping @Sendable () throws -> Scope
    ) {
        self.form = form
        self.scope = scope
    }
}
