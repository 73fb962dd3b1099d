// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanModel

/// What an import of a Couchbase Lite database brought over.
public struct CouchbaseLiteImport: Sendable {
    /// The name of the new database.
    public var name = ""
    /// Documents, deleted ones included.
    public var documents = 0
    /// Revisions with their bodies.
    public var revisions = 0
    /// Contents of attachments; the same content counts once.
    public var attachments = 0
    /// Local documents.
    public var localDocuments = 0
    /// Checkpoints of replications.
    public var checkpoints = 0
    /// Dates of expiration.
    public var expirations = 0
    /// What could not be read or is not allowed here, a sentence each; at most 1,000.
    public var problems: [VerificationProblem] = []
    /// How many problems there were in all.
    public var problemCount = 0

    mutating func add(_ message: String, _ id: DocumentID? = nil) {
        problemCount += 1
        guard problems.count < 1_000 else { return }
        problems.append(VerificationProblem(message: message, documentID: id))
    }
}
