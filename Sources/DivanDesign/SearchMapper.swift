// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// The function of a search index, in a process that has learned it.
///
/// The process says which fields a document has; their words are found here:
///
///     ["index_doc",{"_id":"a",…}]      ──►
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
    private let processes: any ScriptProcesses
    private let program: ScriptProgram

    init(
        _ search: DesignSearch, _ function: String, _ analyzers: SearchAnalyzers,
        of id: DocumentID, in database: Database, by processes: any ScriptProcesses
    ) {
        self.search = search
        self.analyzers = analyzers
        self.id = id
        self.processes = processes
        program = ScriptProgram(
            key: "search \(database.incarnation) \(id) \(search.version)",
            commands: [
                ScriptText.command("reset", ScriptText.text([:])),
                ScriptText.command("add_fun", ScriptText.text(.string(function))),
            ])
    }

    func map(_ documents: [Document]) throws -> [PackedValue] {
        guard !documents.isEmpty else { return [] }
        var lines: [UInt8] = []
        for document in documents {
            lines += "[\"\(search.command)\",".utf8
            ScriptText.append(document, to: &lines)
            lines += "]\n".utf8
        }
        let answers = try DatabaseError.naming(id) { () throws(ScriptError) in
            let answers = try processes.withProcess(for: program) { process throws(ScriptError) in
                try process.ask(lines, count: documents.count)
            }
            return try answers.map { answer throws(ScriptError) in
                ScriptLog.write(answer, of: id)
                return try answer.value()
            }
        }
        return try zip(documents, answers).map { document, answer in
            try SearchRows.rows(of: answer[0], document.id, for: search.service, analyzers)
        }
    }
}
