// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// Sends documents to a process that has learned functions that map them, and takes its answers.
///
///     ["properties"]                          ──►
///                                             ◄──   ["name","type"]
///     ["map_docs"]⇥{"_id":"a",…}⇥{"_id":"b",…}  ──►
///                                             ◄──   [[["Ann",1]],[]]
///                                             ◄──   [[],[["x",null]]]
///
/// Most functions read a few properties, and most of what a short function costs is the parsing of its document. So the process is asked
/// once which properties the functions read, and is sent no others; it says null where their text does not show that. Many
/// documents are one line, which costs half of what a line for each does. The rows are those of whole documents sent one by one.
///
/// State: what the functions read, guarded by its mutex.
final class DocumentMapping: Sendable {
    /// What the functions read of a document.
    private enum Reading {
        /// The process was not asked yet.
        case unknown
        case everything
        case properties([String])
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
    ///   - command: The name of the command that maps many documents.
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
        let names = try propertiesRead()
        var lines: [UInt8] = []
        var end = 0
        for document in documents {
            if lines.count >= end {
                if end > 0 { lines.append(UInt8(ascii: "\n")) }
                lines += "[\"\(command)\"]".utf8
                end = lines.count + Self.lineLength
            }
            lines.append(UInt8(ascii: "\t"))
            if let names {
                ScriptText.append(document, only: names, to: &lines)
            } else {
                ScriptText.append(
                    document, tree: try tree?(document.id), showsSequence: showsSequence,
                    to: &lines)
            }
        }
        lines.append(UInt8(ascii: "\n"))
        return try ask(lines, count: documents.count).map { answer in
            ScriptLog.write(answer, of: id)
            return try value(of: answer)
        }
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

    /// The names of the properties that the functions read, nil when it may be any.
    private func propertiesRead() throws -> [String]? {
        try reading.withLock { reading in
            if case .unknown = reading {
                let question = Array(#"["properties"]"#.utf8)
                let answer = try DatabaseError.naming(id) { () throws(ScriptError) in
                    try self.answer(to: question)
                }
                reading = Self.reading(answer)
            }
            guard case .properties(let names) = reading else { return nil }
            return names
        }
    }

    /// What the process says that functions read. What a document has beside its body, such as its conflicts, only whole ones show.
    private static func reading(_ answer: PackedValue) -> Reading {
        guard let names = answer.jsonValue().array?.compactMap(\.string) else { return .everything }
        let isOfBody = names.allSatisfy { name in
            !name.utf8.starts(with: "_".utf8) || ScriptText.isShownAlone(name)
        }
        return isOfBody ? .properties(names) : .everything
    }

    private func ask(_ lines: [UInt8], count: Int) throws(DatabaseError) -> [ScriptAnswer] {
        try DatabaseError.naming(id) { () throws(ScriptError) in
            try processes.withProcess(for: program) { process throws(ScriptError) in
                try process.ask(lines, count: count)
            }
        }
    }

    private func value(of answer: ScriptAnswer) throws(DatabaseError) -> PackedValue {
        try DatabaseError.naming(id) { () throws(ScriptError) in try answer.value() }
    }
}
