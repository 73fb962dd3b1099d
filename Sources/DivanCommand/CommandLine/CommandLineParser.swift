// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Reads the words after a subcommand's name by that subcommand's schema.
///
/// The rules are those of most Unix tools: `--name value` and `--name=value`, `-n value` and
/// `-nvalue`, flags in one cluster (`-ql`), options and arguments in any order, `--` before
/// arguments that begin with a dash. A lone `-` is an argument. An option given twice is an error
/// unless its schema says that it repeats: of two limits, one would be silently ignored.
struct CommandLineParser {
    let schema: CommandSchema

    private var words: ArraySlice<String> = []
    private var positionals: [String] = []
    private var result = ParsedArguments()

    init(_ schema: CommandSchema) {
        self.schema = schema
    }

    static func parse(
        _ words: [String], by schema: CommandSchema
    ) throws(UsageError) -> ParsedArguments {
        var parser = CommandLineParser(schema)
        return try parser.run(words)
    }

    /// Reads options that stand one a line, as `NAME` or `NAME = VALUE`; empty lines and those that begin with `#` say nothing.
    ///
    /// - Parameters:
    ///   - text: The lines.
    ///   - name: What the errors call the text.
    ///   - schema: The options that there may be.
    /// - Returns: The options.
    /// - Throws: `UsageError`, which names the line.
    static func parse(
        optionLines text: String, of name: String, by schema: CommandSchema
    ) throws(UsageError) -> ParsedArguments {
        var parser = CommandLineParser(schema)
        // Some editors begin a file with a mark of its encoding.
        let text =
            text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        let lines = text.utf8.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let word = trimmed(line[...]), !word.hasBytePrefix("#") else { continue }
            do throws(UsageError) {
                try parser.takeLongOption(optionWord(word)[...])
            } catch {
                throw UsageError("\(name), line \(index + 1): \(error.message)")
            }
        }
        return parser.result
    }

    /// An option as the command line has it. What is none is not repeated in the error: it may be a secret.
    private static func optionWord(_ line: String) throws(UsageError) -> String {
        let parts = line.utf8.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first.flatMap(trimmed),
            name.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || (0x61...0x7A).contains($0) })
        else { throw UsageError("a line is NAME or NAME = VALUE.") }
        guard parts.count == 2 else { return name }
        let value = trimmed(parts[1]) ?? ""
        guard !value.hasBytePrefix("\"") else {
            throw UsageError("the value of \(name) stands without quotation marks.")
        }
        return name + "=" + value
    }

    /// A text without the spaces around it; nil when there is nothing else.
    private static func trimmed(_ text: Substring.UTF8View) -> String? {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        let head = text.drop(while: isSpace)
        guard let last = head.lastIndex(where: { !isSpace($0) }) else { return nil }
        return String(Substring(head[...last]))
    }

    private mutating func run(_ allWords: [String]) throws(UsageError) -> ParsedArguments {
        words = allWords[...]
        while let word = words.popFirst() {
            if word == "--" {
                positionals += words
                break
            } else if word.hasBytePrefix("--") {
                try takeLongOption(word.dropFirst(2))
            } else if word.hasBytePrefix("-"), word.count > 1 {
                try takeLetters(word.dropFirst())
            } else {
                positionals.append(word)
            }
        }
        // A user who asks for help need not have the arguments right.
        if !result.flag("help") { try assignPositionals() }
        return result
    }

    private mutating func takeLongOption(_ text: Substring) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts.first ?? "")
        guard let option = schema.option(named: name) else {
            guard !schema.hidden.contains(name) else {
                throw UsageError("--\(name) can only stand on the command line.")
            }
            throw UsageError(
                "Unknown option --\(name)."
                    + Suggestion.sentence(for: name, among: schema.allOptions.map(\.name), "--"))
        }
        let attached = parts.count == 2 ? String(parts[1]) : nil
        if option.valueName == nil, attached != nil {
            throw UsageError("--\(name) is a flag and takes no value.")
        }
        try take(option, attached: attached, spelling: "--\(name)")
    }

    private mutating func takeLetters(_ text: Substring) throws(UsageError) {
        var rest = text
        while let letter = rest.popFirst() {
            guard let option = schema.option(lettered: letter) else {
                throw UsageError(
                    "Unknown option -\(letter). An argument that begins with a dash goes after --.")
            }
            guard option.valueName == nil else {
                let attached = rest.isEmpty ? nil : String(rest)
                return try take(option, attached: attached, spelling: "-\(letter)")
            }
            try take(option, attached: nil, spelling: "-\(letter)")
        }
    }

    private mutating func take(
        _ option: OptionSchema, attached: String?, spelling: String
    ) throws(UsageError) {
        if !option.repeats, result.flag(option.name) {
            throw UsageError("\(spelling) is given twice.")
        }
        guard let valueName = option.valueName else {
            return result.add(option: option.name, "")
        }
        guard let value = attached ?? words.popFirst() else {
            throw UsageError("\(spelling) needs a value: \(spelling) \(valueName).")
        }
        if case .choices(let choices) = option.completion, !choices.contains(value) {
            throw UsageError(
                "\(spelling) takes one of \(choices.joined(separator: ", ")), not \"\(value)\".")
        }
        result.add(option: option.name, value)
    }

    private mutating func assignPositionals() throws(UsageError) {
        var rest = positionals[...]
        for argument in schema.arguments {
            switch argument.count {
            case .required:
                guard let value = rest.popFirst() else {
                    throw UsageError("\(argument.name) is missing.")
                }
                result.add(argument: argument.name, value)
            case .optional:
                if let value = rest.popFirst() { result.add(argument: argument.name, value) }
            case .oneOrMore, .zeroOrMore:
                if rest.isEmpty, argument.count == .oneOrMore {
                    throw UsageError("\(argument.name) is missing.")
                }
                for value in rest { result.add(argument: argument.name, value) }
                rest = []
            }
        }
        if let extra = rest.first {
            throw UsageError("Unexpected argument \"\(extra)\".")
        }
    }
}
