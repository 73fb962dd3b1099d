// SPDX-License-Identifier: Apache-2.0

/// A part of the comparison.
struct Part: Sendable {
    var name: String
    /// What it does, in a line.
    var summary: String
    var run: @Sendable (Harness) async throws -> Void

    static let all = [
        Part(
            name: "documents", summary: "difficult documents in four directions",
            run: { try await DocumentsPart($0).run() }),
        Part(
            name: "refused", summary: "documents that one end cannot take: the others arrive",
            run: { try await RefusedPart($0).run() }),
        Part(
            name: "filters", summary: "document IDs, selectors, filter functions",
            run: { try await FiltersPart($0).run() }),
        Part(
            name: "attachments",
            summary: "edits of documents with attachments, content that comes later",
            run: { try await AttachmentsPart($0).run() }),
        Part(
            name: "requests", summary: "the routes of replication, answered side by side",
            run: { try await RequestsPart($0).run() }),
        Part(
            name: "continuous", summary: "both ends edited under four continuous replications",
            run: { try await ContinuousPart($0).run() }),
        Part(
            name: "kills", summary: "clients and listeners killed while they replicate",
            run: { try await KillsPart($0).run() }),
        Part(
            name: "clients", summary: "many clients of one database",
            run: { try await ClientsPart($0).run() }),
    ]
}
