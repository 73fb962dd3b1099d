// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON
internal import DivanLogging
internal import DivanModel

/// The functions of a revision of a design document, but for its views: filters, validations, updates, shows, lists and rewrites.
package struct DesignFunctions: Sendable {
    /// The revision.
    package let document: Document
    private let processes: any ScriptProcesses
    private let program: ScriptProgram

    /// Makes them.
    ///
    /// - Parameters:
    ///   - document: The revision.
    ///   - incarnation: What tells the database from all others.
    ///   - processes: What runs the functions.
    ///   - validates: Whether they are there for their validation alone, which has processes of its own.
    init(
        _ document: Document, of incarnation: String, by processes: any ScriptProcesses,
        validates: Bool = false
    ) {
        self.document = document
        self.processes = processes
        program = ScriptProgram(
            key:
                "\(validates ? "validation" : "functions") \(incarnation) \(document.id) \(document.revisionID)",
            commands: [
                ScriptText.command(
                    "ddoc", ScriptText.text("new"), ScriptText.text(.string(document.id.text)),
                    ScriptText.text(document))
            ], isUrgent: validates)
    }

    /// Calls a function.
    ///
    /// - Parameters:
    ///   - path: The members that lead to it, such as `["filters", "mine"]`.
    ///   - arguments: Its arguments, JSON texts.
    /// - Returns: What the process answers.
    /// - Throws: `ScriptError`.
    package func call(_ path: [String], _ arguments: [[UInt8]]) throws(ScriptError) -> PackedValue {
        let command = self.command(path, arguments)
        let answer = try processes.withProcess(for: program) { process throws(ScriptError) in
            try process.ask(command)
        }
        return try value(of: answer)
    }

    /// Lends a process that knows the functions, for those whose call has several commands.
    package func withProcess<Result>(
        _ body: (any ScriptProcess) throws(ScriptError) -> Result
    ) throws(ScriptError) -> Result {
        try processes.withProcess(for: program, body)
    }

    /// The command that calls a function.
    package func command(_ path: [String], _ arguments: [[UInt8]]) -> [UInt8] {
        ScriptText.command(
            "ddoc", ScriptText.text(.string(document.id.text)),
            ScriptText.text(.array(path.map { .string($0) })), ScriptText.array(arguments))
    }

    /// The value of an answer, after what the script logged has been logged.
    package func value(of answer: ScriptAnswer) throws(ScriptError) -> PackedValue {
        ScriptLog.write(answer, of: document.id)
        return try answer.value()
    }
}

/// What scripts log goes to the log at level `debug`, since it may have content of documents.
enum ScriptLog {
    private static let longest = 1_000

    static func write(
        _ answer: ScriptAnswer, of id: DocumentID, for document: DocumentID? = nil
    ) {
        for line in answer.logs {
            let subject = document.map { " for '\($0)'" } ?? ""
            Log.scripts.debug("'\(id)' logs\(subject): \(line.prefix(longest))")
        }
    }
}
