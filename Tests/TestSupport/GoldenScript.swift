// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A text file that says what to do and what must come out of it.
///
/// ```
/// # Deleting the loser resolves a conflict.            comments say what is shown
/// tree 1-a 2-b                                         commands, one a line …
/// merge 1-a 2-c
/// ---                                                  … then the output of the whole block
/// 1-a ─┬─ 2-b
///      └─ 2-c   winner
///                                                      an empty line ends the block
/// delete 2-b 3-d
/// ---
/// …
/// ```
///
/// A suite gives the commands their meaning with a ``ScriptInterpreter``, and has one test for a
/// folder of scripts:
///
/// ```swift
/// @Test(arguments: GoldenScript.all(in: "trees"))
/// func `trees do what their scripts say`(script: GoldenScript) throws {
///     try script.run(with: TreeInterpreter())
/// }
/// ```
///
/// With `UPDATE_SCRIPTS=1` a script that gives other output is rewritten instead of failing; read
/// the difference before committing it.
public struct GoldenScript: Sendable, CustomStringConvertible {
    /// The path inside `Tests/Scripts`.
    public let path: String

    /// The same as ``path``.
    public var description: String { path }

    /// Returns the scripts of a folder, in the order of their names.
    ///
    /// - Parameter folder: A folder in `Tests/Scripts`, which must hold a script: a test with
    ///   nothing to run would pass.
    public static func all(in folder: String) -> [GoldenScript] {
        let url = TestFolder.tests.appending(path: "Scripts").appending(path: folder)
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false)))
            ?? []
        let scripts = names.filter { $0.hasSuffix(".txt") }.sorted()
        precondition(!scripts.isEmpty, "There is no script in Tests/Scripts/\(folder).")
        return scripts.map { GoldenScript(path: "\(folder)/\($0)") }
    }

    /// Runs the script and compares what comes out.
    ///
    /// - Parameter interpreter: What the commands mean.
    /// - Throws: ``Mismatch`` for the first block whose output differs, unless scripts are to be
    ///   rewritten; or an error of the file system.
    public func run(with interpreter: some ScriptInterpreter) throws {
        var interpreter = interpreter
        let url = TestFolder.tests.appending(path: "Scripts").appending(path: path)
        let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        let isUpdating = environment("UPDATE_SCRIPTS") == "1"

        var blocks = ScriptBlock.parse(text)
        for index in blocks.indices where !blocks[index].commands.isEmpty {
            let output = blocks[index].output(from: &interpreter)
            if output != blocks[index].expected, !isUpdating {
                throw Mismatch(path: path, block: blocks[index], output: output)
            }
            blocks[index].expected = output
        }
        let updated = blocks.map(\.text).joined(separator: "\n")
        if isUpdating, updated != text {
            try Data(updated.utf8).write(to: url, options: .atomic)
            print("Rewrote Tests/Scripts/\(path).")
        }
    }

    /// Output that is not what the script says.
    public struct Mismatch: Error, CustomStringConvertible {
        /// The script, the commands, what was expected and what came.
        public let description: String

        init(path: String, block: ScriptBlock, output: [String]) {
            description =
                (["Tests/Scripts/\(path):\(block.line)"] + block.commands.map(\.text)
                + ["--- expected"] + block.expected + ["--- came"] + output)
                .joined(separator: "\n")
        }
    }
}

/// What the commands of a script mean.
public protocol ScriptInterpreter {
    /// Does what a command says.
    ///
    /// - Parameter command: The command.
    /// - Returns: Lines of output.
    /// - Throws: Any error, which becomes a line of output that starts with `error:`.
    mutating func run(_ command: ScriptCommand) throws -> [String]

    /// Returns what to print after the last command of a block: often the state.
    mutating func endBlock() -> [String]
}

extension ScriptInterpreter {
    /// Prints nothing.
    public mutating func endBlock() -> [String] { [] }
}
