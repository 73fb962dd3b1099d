// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The words that one subcommand understands: its name, arguments, options and help.
struct CommandSchema: Sendable, Equatable {
    @ByBytes var name: String
    /// One line for the list of commands.
    var summary: String
    /// Paragraphs for the command's own help.
    var discussion = ""
    var arguments: [ArgumentSchema] = []
    var options: [OptionSchema] = []
    /// Options that the command has, and this use of it has not.
    var hidden: NameSet = []
    /// Command lines worth copying, shown at the foot of the help.
    var examples: [String] = []

    /// The options that every command has.
    static let commonOptions: [OptionSchema] = [
        .value(
            "color", nil, "WHEN", "Colour the output: auto (the default), always or never.",
            completion: .choices(["auto", "always", "never"])),
        .flag("quiet", "q", "Show no progress bar and no closing remarks."),
        .value(
            "log", nil, "LEVEL",
            "Log to standard error: debug, verbose, info, warning, error or none, for one part of"
                + " the work as DOMAIN=LEVEL.",
            repeats: true),
        .value(
            "log-file", nil, "PATH", "Log to a file, from info on unless --log says otherwise.",
            completion: .file),
        .flag("help", "h", "Show this help."),
    ]

    /// Whether the command has a database as an argument, which may need a key.
    var opensDatabase: Bool { arguments.contains { $0.completion == .database } }

    var allOptions: [OptionSchema] {
        (options + (opensDatabase ? KeySource.options : []) + Self.commonOptions)
            .filter { !hidden.contains($0.name) }
    }

    func option(named name: String) -> OptionSchema? {
        allOptions.first { $0.name.hasSameBytes(as: name) }
    }

    func option(lettered letter: Character) -> OptionSchema? {
        allOptions.first { $0.letter == letter }
    }
}
