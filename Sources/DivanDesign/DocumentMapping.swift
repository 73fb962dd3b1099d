// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// Sends documents to a process that has learned functions that map them, and takes its answers.
///
///     ["properties"]                          ──►
///                                             ◄──   ["name","type"]
///     ["map_docs"]⇥{"name":"Ann"}⇥{"type":"x"}  ──►
///                                             ◄──   [[["Ann",1]],[]]
///                                             ◄──   [[],[["x",null]]]
///
/// Most functions read a few properties, and most of what a short function costs is the parsing of its document. So the process is asked
/// once which properties the functions read, and is sent no others; it says null where their text does not show that. Many
/// documents are one line, which costs half of what a line for each does where they are whole. The rows are those of whole documents sent one by one, as other query
/// servers than Divan's get them:
///
///     ["map_doc",{"_id":"a",…}]               ──►
///                                             ◄──   [[["Ann",1]],[]]
///
/// State: what the functions read, guarded by its mutex.
final class DocumentMapping: Sendable {
    /// What the functions read of a document.
    private enum Reading {
        /// The process was not asked yet.
        case unknown
        case everything
        case properties([ShownProperty])
    }

    /// A line has documents of some such length, and at least one.
    private static let lineLength = 16 << 10

    private let id: DocumentID
    private let command: String
    private let showsSequence: Bool
    private let processes: any ScriptProcesses
    private let program: ScriptProgram
    private let reading = Mutex(Reading.unknown)

    /// - Parameters:
    ///   - id: The design document.
    ///   - command: The name of the command that maps a document; the one that maps many has an `s` behind it.
    ///   - showsSequence: Whether documents show their sequence.
    ///   - program: What the process learns.
    ///   - processes: What lends processes.
    init(
        _ id: DocumentID, _ command: String, showsSequence: Bool = false,
        _ program: ScriptProgram, by processes: any ScriptProcesses
    ) {
        self.id = id
        self.command = command
        self.showsSequence = showsSequence
        self.program = program
        self.processes = processes
    }

    /// Maps documents.
    ///
    /// - Parameters:
    ///   - documents: The documents.
    ///   - tree: Reads the tree of a document, whose conflicts it then shows; nil where it shows none.
    /// - Returns: The answers, in the order of the documents.
    /// - Throws: `DatabaseError.Code.scriptFailed`, and what reading a tree throws.
    func answers(
        to documents: [Document], trees tree: (@Sendable (DocumentID) throws -> RevisionTree?)?
    ) throws -> [PackedValue] {
        guard !documents.isEmpty else { return [] }
        guard processes.mapsManyDocuments else {
            return try values(of: lines(for: documents, tree), for: documents)
        }
        let properties = try propertiesRead()
        var lines: [UInt8] = []
        var end = 0
        for document in documents {
            if lines.count >= end {
                if end > 0 { lines.append(UInt8(ascii: "\n")) }
                lines += "[\"\(command)s\"]".utf8
                end = lines.count + Self.lineLength
            }
            lines.append(UInt8(ascii: "\t"))
            if let properties {
                ScriptText.append(document, only: properties, to: &lines)
            } else {
                try append(document, tree, to: &lines)
            }
        }
        lines.append(UInt8(ascii: "\n"))
        return try values(of: lines, for: documents)
    }

    /// A line for each document.
    private func lines(
        for documents: [Document], _ tree: ((DocumentID) throws -> RevisionTree?)?
    ) throws -> [UInt8] {
        var lines: [UInt8] = []
        for document in documents {
            lines += "[\"\(command)\",".utf8
            try append(document, tree, to: &lines)
            lines += "]\n".utf8
        }
        return lines
    }

    private func append(
        _ document: Document, _ tree: ((DocumentID) throws -> RevisionTree?)?,
        to lines: inout [UInt8]
    ) throws {
        ScriptText.append(
            document, tree: try tree?(document.id), showsSequence: showsSequence, to: &lines)
    }

    /// The answer to one command.
    ///
    /// - Parameter command: The command, JSON in one line without its end.
    /// - Returns: The answer's value.
    /// - Throws: `ScriptError`.
    func answer(to command: [UInt8]) throws(ScriptError) -> PackedValue {
        let answer = try processes.withProcess(for: program) { process throws(ScriptError) in
            try process.ask(command)
        }
        ScriptLog.write(answer, of: id)
        return try answer.value()
    }

    /// The properties that the functions read, nil when it may be any.
    private func propertiesRead() throws -> [ShownProperty]? {
        try reading.withLock { reading in
            if case .unknown = reading {
                let question = Array(#"["properties"]"#.utf8)
                let answer = try DatabaseError.naming(id) { () throws(ScriptError) in
                    try self.answer(to: question)
                }
                reading = Self.reading(answer)
            }
            guard case .properties(let properties) = reading else { return nil }
            return properties
        }
    }

    /// What the process says that functions read. What a document has beside its body, such as its conflicts, only whole ones show.
    private static func reading(_ answer: PackedValue) -> Reading {
        guard let names = answer.jsonValue().array?.compactMap(\.string) else { return .everything }
        let properties = names.compactMap(ShownProperty.init)
        return properties.count == names.count ? .properties(properties) : .everything
    }

    /// What the process answers to lines with documents. What a function logs is told with the document, whose ID it may not know.
    private func values(
        of lines: [UInt8], for documents: [Document]
    ) throws(DatabaseError) -> [PackedValue] {
        try DatabaseError.naming(id) { () throws(ScriptError) in
            let answers = try processes.withProcess(for: program) { process throws(ScriptError) in
                try process.ask(lines, count: documents.count)
            }
            var values: [PackedValue] = []
            values.reserveCapacity(answers.count)
            for (answer, document) in zip(answers, documents) {
                ScriptLog.write(answer, of: id, for: document.id)
                values.append(try answer.rows())
            }
            return values
        }
    }
}
