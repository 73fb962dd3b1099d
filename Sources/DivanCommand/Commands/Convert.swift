// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanLMDB
internal import DivanStorage
internal import FoundationEssentials

extension Command {
    /// `divan convert`: a database moves to another storage engine.
    static let convert = Command(
        CommandSchema(
            name: "convert",
            summary: "Move a database to another storage engine.",
            discussion: """
                It stays the same database: documents, conflicts, attachments, indexes, sequences. \
                The new data are built beside the old ones, checked, and take their place in one \
                step, so whatever happens there is the old database or the new one, whole. No other \
                process may have it open meanwhile. docs/engines.md says which engine is for what.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "ENGINE", summary: "The engine: sqlite or lmdb.",
                    completion: .choices(EngineChoice.names)),
            ],
            examples: ["divan convert notes.divan lmdb"])
    ) { invocation in
        let path = try Invocation.location(try invocation.arguments.argument("DB"))
        let engine = try EngineChoice.engine(named: try invocation.arguments.argument("ENGINE"))
        let before = try invocation.openDatabase()
        let old = before.storageEngineName
        before.close()
        if old == engine.identifier {
            return invocation.output.remark(
                "\(PrintableText.escaping(path)) is kept by \(old) already.")
        }
        try invocation.withProgress("Converting") { progress in
            try Database.convert(at: URL(filePath: path), to: engine, progress: progress)
        }
        invocation.output.remark(
            "Converted \(PrintableText.escaping(path)) from \(old) to \(engine.identifier).")
    }
}

/// The storage engines that the tool has.
enum EngineChoice {
    private static let engines: [StorageEngineFactory] = [.sqlite, .lmdb]

    /// Their names.
    static var names: [String] { engines.map(\.identifier) }

    /// Makes every engine known, so that databases of each can be opened.
    static func registerAll() {
        for engine in engines { Manager.register(engine) }
    }

    /// The engine of a name.
    ///
    /// - Throws: `UsageError` that lists them, for another name.
    static func engine(named name: String) throws(UsageError) -> StorageEngineFactory {
        guard let engine = engines.first(where: { $0.identifier.hasSameBytes(as: name) }) else {
            throw UsageError(
                "There is no storage engine \"\(name)\": the engines are"
                    + " \(names.joined(separator: " and ")).")
        }
        return engine
    }
}
