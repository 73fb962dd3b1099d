// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

// What a server tells of a replication that it runs for others.
extension Replication {
    /// The name of its checkpoint: the same replication with the same settings, the same name,
    /// whether it is one-shot or continuous.
    package var checkpointID: String { Ends.id(self).text }

    /// The runs that its checkpoint tells of, as the database here has it, newest first, each as CouchDB notes one.
    ///
    /// - Throws: `DatabaseError` as reading does.
    package func checkpointHistory() async throws -> [JSONObject] {
        try await LocalPeer(database).checkpoint(Ends.id(self))?.checkpoint.runs ?? []
    }

    /// Waits until the listeners of documents were told of everything that happened so far.
    package func listenersCaughtUp() async { await documentFollowers.told() }
}
