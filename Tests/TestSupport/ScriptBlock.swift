// SPDX-License-Identifier: Apache-2.0

/// Comments and commands up to `---`, and the output up to an empty line.
struct ScriptBlock {
    /// The number of the first line in the file.
    var line: Int
    var comments: [String] = []
    var commands: [ScriptCommand] = []
    var expected: [String] = []

    /// Runs the commands, and returns all that they print.
    func output(from interpreter: inout some ScriptInterpreter) -> [String] {
        var lines: [String] = []
        for command in commands {
            do {
                lines += try interpreter.run(command)
            } catch {
                lines.append("error: \(error)")
            }
        }
        lines += interpreter.endBlock()
        // An empty line ends the block, so none may be printed.
        return lines.map { $0.isEmpty ? "(empty line)" : $0 }
    }

    /// The block as it stands in a file, with a line feed at its end.
    var text: String {
        var lines = comments + commands.map(\.text)
        if !commands.isEmpty { lines += ["---"] + expected }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Splits a file into its blocks.
    static func parse(_ text: String) -> [ScriptBlock] {
        var blocks: [ScriptBlock] = []
        var block: ScriptBlock?
        var isOutput = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init).enumerated()
        {
            if line.isEmpty {
                if let block { blocks.append(block) }
                block = nil
                isOutput = false
                continue
            }
            var current = block ?? ScriptBlock(line: index + 1)
            if isOutput {
                current.expected.append(line)
            } else if line == "---" {
                isOutput = true
            } else if line.hasPrefix("#") {
                current.comments.append(line)
            } else {
                current.commands.append(ScriptCommand(line))
            }
            block = current
        }
        if let block { blocks.append(block) }
        return blocks
    }
}
