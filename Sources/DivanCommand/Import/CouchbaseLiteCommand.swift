// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import FoundationEssentials

/// The part of `divan import` that brings over a whole database of Couchbase Lite 1.x.
enum CouchbaseLiteCommand {
    /// Whether a path names such a database, by its suffix.
    static func isMeant(by path: String) -> Bool {
        let path = withoutSlash(path)
        return path.hasByteSuffix(".cblite2") || path.hasByteSuffix(".cblite")
    }

    /// Imports `source` into `target`, by default a database of the same name in the current directory.
    static func run(_ invocation: Invocation, source: String, target: String?) throws {
        let meaningless = [
            "format", "key", "id-field", "id-prefix", "set", "update", "new-revisions",
            "drop-attachments", "strict",
        ]
        if let option = meaningless.first(where: { invocation.arguments.flag($0) }) {
            throw UsageError("--\(option) has no meaning for a Couchbase Lite database.")
        }
        let source = withoutSlash(source)
        let name = URL(filePath: source).deletingPathExtension().lastPathComponent
        let path = try Invocation.newLocation(target ?? name)
        let result = try invocation.withProgress("Importing") { progress in
            try Database.importCouchbaseLite(
                from: URL(filePath: source), to: URL(filePath: path), progress: progress)
        }
        for problem in result.problems {
            try invocation.output.line(PrintableText.escaping(problem.message))
        }
        var parts = [
            Quantity.counted(result.documents, "document"),
            Quantity.counted(result.revisions, "revision"),
        ]
        let rest = [
            (result.attachments, "attachment"), (result.localDocuments, "local document"),
            (result.expirations, "expiration date"), (result.checkpoints, "checkpoint"),
        ]
        parts += rest.filter { $0.0 > 0 }.map { Quantity.counted($0.0, $0.1) }
        invocation.output.remark(
            "Imported \(parts.joined(separator: ", ")) into \(PrintableText.escaping(path)).")
        if result.problemCount > 0 {
            throw CommandFailure(
                .badInput, "\(Quantity.counted(result.problemCount, "record")) left out.")
        }
    }

    private static func withoutSlash(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasByteSuffix("/") { path.removeLast() }
        return path
    }
}
