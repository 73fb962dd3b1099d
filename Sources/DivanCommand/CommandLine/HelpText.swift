// SPDX-License-Identifier: Apache-2.0

/// Writes `--help` texts from the command table.
enum HelpText {
    static let width = 80

    /// The help of the tool itself: every command in one line, and what the exit codes mean.
    static func overview(of schemas: [CommandSchema], version: String) -> String {
        var lines = [
            "divan \(version): documents in Divan databases, from the command line", "",
            "Usage: divan COMMAND [OPTIONS] ARGUMENTS", "",
            "Commands:",
        ]
        lines += table(schemas.map { ($0.name, $0.summary) })
        lines += ["", "Exit codes:"]
        lines += table(ExitCode.allCases.map { (String($0.rawValue), $0.meaning) })
        lines += [
            "",
            "\"divan COMMAND --help\" explains a command. \"divan --version\" prints the version.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The help of one command.
    static func page(for schema: CommandSchema) -> String {
        var lines = [usage(of: schema), ""]
        lines += wrap(schema.summary, width: width)
        for paragraph in schema.discussion.split(separator: "\n") {
            lines.append("")
            lines += wrap(String(paragraph), width: width)
        }
        if !schema.arguments.isEmpty {
            lines += ["", "Arguments:"]
            lines += table(schema.arguments.map { ($0.name, $0.summary) })
        }
        lines += ["", "Options:"]
        lines += table(schema.allOptions.map { (spelling(of: $0), $0.summary) })
        if !schema.examples.isEmpty {
            lines += ["", "Examples:"]
            lines += schema.examples.map { "  " + $0 }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static func usage(of schema: CommandSchema) -> String {
        let arguments = schema.arguments.map { " " + $0.usage }.joined()
        return "Usage: divan \(schema.name) [OPTIONS]\(arguments)"
    }

    private static func spelling(of option: OptionSchema) -> String {
        let letter = option.letter.map { "-\($0), " } ?? "    "
        let value = option.valueName.map { " \($0)" } ?? ""
        return "\(letter)--\(option.name)\(value)"
    }

    /// Lays out names and sentences in two columns.
    private static func table(_ rows: [(String, String)]) -> [String] {
        let column = min(28, (rows.map { $0.0.count }.max() ?? 0) + 2)
        return rows.flatMap { name, summary in
            let indent = String(repeating: " ", count: column + 2)
            var sentences = wrap(summary, width: width - column - 2).map { indent + $0 }
            if name.count + 2 > column {
                sentences.insert("  " + name, at: 0)
            } else if let first = sentences.first {
                let padding = String(repeating: " ", count: column - name.count)
                sentences[0] = "  " + name + padding + first.dropFirst(column + 2)
            }
            return sentences
        }
    }

    static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + [line]
    }
}
