// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// The map functions of a design document's views, in a process that has learned them all.
///
/// Each answer has the rows of all views: `[[["Ann",1]],[]]` is a row in the first of two views.
///
/// `_conflicts` costs a look-up for each document, so a document has them only where the functions have the word in them.
final class ScriptMapper: GroupMapper {
    /// The design document.
    let id: DocumentID
    /// What it maps by.
    let views: DesignViews
    private let mapping: DocumentMapping
    /// Reads the tree of a document.
    private let tree: @Sendable (DocumentID) throws -> RevisionTree?

    init(
        _ views: DesignViews, of id: DocumentID, in database: Database,
        by processes: any ScriptProcesses
    ) {
        self.views = views
        self.id = id
        tree = { [weak database] id in try database?.revisionTree(of: id) }
        let program = ScriptProgram(
            key: "views \(database.incarnation) \(id) \(views.signature)",
            commands: views.commands(for: views.views))
        mapping = DocumentMapping(
            id, "map_doc", showsSequence: views.showsSequence, program, by: processes)
    }

    func map(_ documents: [Document]) throws -> [PackedValue] {
        try mapping.answers(to: documents, trees: views.showsConflicts ? tree : nil)
    }

    /// The reduce function of a view, run by the process that maps.
    func reduce(_ source: String) -> Reduce {
        let functions = ScriptText.array([ScriptText.text(.string(source))])
        return .external { [self] keys, values in
            // What is too long at the beginning does not become shorter.
            if keys == nil, let failed = values.first(where: { $0[Self.overflow] != nil }) {
                return failed
            }
            var rows: [UInt8] = [UInt8(ascii: "[")]
            for (index, value) in values.enumerated() {
                if index > 0 { rows.append(UInt8(ascii: ",")) }
                guard let key = keys?[index] else {
                    value.appendJSON(to: &rows)
                    continue
                }
                rows += "[[".utf8
                JSONWriter.append(key.key, to: &rows)
                rows.append(UInt8(ascii: ","))
                JSONWriter.append(.string(key.id.text), to: &rows)
                rows += "],".utf8
                value.appendJSON(to: &rows)
                rows.append(UInt8(ascii: "]"))
            }
            rows.append(UInt8(ascii: "]"))
            let name = keys == nil ? "rereduce" : "reduce"
            return try reduced(ScriptText.command(name, functions, rows))
        }
    }

    private static let overflow = "reduce_overflow_error"

    /// What a reduction gives. That its result is too long is a result, too, as in CouchDB.
    private func reduced(_ command: [UInt8]) throws -> PackedValue {
        try DatabaseError.naming(id) { () throws(ScriptError) in
            do throws(ScriptError) {
                guard let value = try mapping.answer(to: command)[1]?[0] else {
                    throw .workerFailed
                }
                return value
            } catch  where error.name.hasSameBytes(as: Self.overflow) {
                return PackedValue([Self.overflow: .string(error.reason)])
            }
        }
    }
}

extension DatabaseError {
    /// Runs functions of a design document, and makes an error of theirs one of the database.
    static func naming<T>(
        _ id: DocumentID, _ function: String = "A function",
        _ body: () throws(ScriptError) -> T
    ) throws(DatabaseError) -> T {
        do throws(ScriptError) { return try body() } catch {
            throw DatabaseError(
                .scriptFailed, "\(function) of '\(id)' does not run: \(error.message)",
                documentID: id, underlying: error)
        }
    }
}
