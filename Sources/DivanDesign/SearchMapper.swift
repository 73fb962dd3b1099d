// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// The function of a search index, in a process that has learned it.
///
/// The process says which fields a document has; their words are found here:
///
///     ["index_docs"]⇥{"_id":"a",…}     ──►
///                                      ◄──   [[["title","Cats",{}]]]
///     [1,"title","cats"], [0]
///
/// Each index has a process of its own, so that one whose function fails fails alone.
final class SearchMapper: GroupMapper {
    /// The design document.
    let id: DocumentID
    /// What it maps by.
    let search: DesignSearch
    /// What finds the words of fields.
    private let analyzers: SearchAnalyzers
    private let mapping: DocumentMapping

    init(
        _ search: DesignSearch, _ function: String, _ analyzers: SearchAnalyzers,
        of id: DocumentID, in database: Database, by processes: any ScriptProcesses
    ) {
        self.search = search
        self.analyzers = analyzers
        self.id = id
        let program = ScriptProgram(
            key: "search \(database.incarnation) \(id) \(search.version)",
            commands: [
                ScriptText.command("reset", ScriptText.text([:])),
                ScriptText.command("add_fun", ScriptText.text(.string(function))),
            ])
        mapping = DocumentMapping(id, search.command, program, by: processes)
    }

    func map(_ documents: [Document]) throws -> [PackedValue] {
        let answers = try mapping.answers(to: documents, trees: nil)
        return try zip(documents, answers).map { document, answer in
            try SearchRows.rows(of: answer[0], document.id, for: search.service, analyzers)
        }
    }
}
