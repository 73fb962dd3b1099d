// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Writes manual pages from the command table, in the language of man(7).
enum ManualPage {
    /// The page of the tool itself.
    static func overview(of schemas: [CommandSchema], version: String) -> String {
        var lines = head("divan", "documents in Divan databases, from the command line", version)
        lines += [".SH SYNOPSIS", ".B divan", ".I COMMAND", "[\\fIOPTIONS\\fR] \\fIARGUMENTS\\fR"]
        lines.append(".SH COMMANDS")
        for schema in schemas {
            lines += [".TP", ".BR divan\\-\(escaped(schema.name)) (1)", line(schema.summary)]
        }
        lines.append(".SH EXIT STATUS")
        for status in ExitCode.allCases {
            lines += [".TP", ".B \(status.rawValue)", line(status.meaning)]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The page of one command.
    static func page(for schema: CommandSchema, version: String) -> String {
        let name = "divan-\(schema.name)"
        var lines = head(name, schema.summary, version)
        lines += [".SH SYNOPSIS", ".B divan \(escaped(schema.name))", "[\\fIOPTIONS\\fR]"]
        lines += schema.arguments.map { ".I \(escaped($0.usage))" }
        lines += [".SH DESCRIPTION", line(schema.summary)]
        for paragraph in schema.discussion.split(separator: "\n") {
            lines += [".PP", line(String(paragraph))]
        }
        if !schema.arguments.isEmpty { lines.append(".SH ARGUMENTS") }
        for argument in schema.arguments {
            lines += [".TP", ".I \(escaped(argument.name))", line(argument.summary)]
        }
        lines.append(".SH OPTIONS")
        for option in schema.allOptions {
            lines += [".TP", spelling(of: option), line(option.summary)]
        }
        if !schema.examples.isEmpty {
            lines += [".SH EXAMPLES", ".EX"] + schema.examples.map(line) + [".EE"]
        }
        lines += [".SH SEE ALSO", ".BR divan (1)"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func head(_ name: String, _ summary: String, _ version: String) -> [String] {
        // The index of pages wants no full stop.
        let plain = summary.hasByteSuffix(".") ? String(summary.dropLast()) : summary
        return [
            #".TH "\#(escaped(name.uppercased()))" 1 "" "Divan \#(version)" "Divan""#,
            ".SH NAME", "\(escaped(name)) \\- \(escaped(plain))",
        ]
    }

    private static func spelling(of option: OptionSchema) -> String {
        let letter = option.letter.map { "\\fB\\-\($0)\\fR, " } ?? ""
        let value = option.valueName.map { " \\fI\(escaped($0))\\fR" } ?? ""
        return "\(letter)\\fB\\-\\-\(escaped(option.name))\\fR\(value)"
    }

    /// A text as a line of its own: one that begins with a mark of the language would be a request.
    private static func line(_ text: String) -> String {
        let text = escaped(text)
        return text.hasBytePrefix(".") || text.hasBytePrefix("'") ? "\\&" + text : text
    }

    /// A text whose backslashes and hyphens are meant as they stand.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
