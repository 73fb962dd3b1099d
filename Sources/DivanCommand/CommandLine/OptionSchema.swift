// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What a shell offers when the user asks it to complete an argument or an option's value.
enum CompletionKind: Sendable, Equatable {
    case nothing
    case database
    case file
    case choices([String])
}

/// One option of a command: `--name`, perhaps `-n`, perhaps with a value.
///
/// The parser, the help text and both shell completions are made from these, so an option cannot
/// exist in one of them and be missing in another.
struct OptionSchema: Sendable, Equatable {
    /// The long name, without its dashes.
    @ByBytes var name: String
    var letter: Character?
    /// What the help calls the value, or `nil` for a flag, which takes none.
    @ByBytes var valueName: String?
    var summary: String
    var completion: CompletionKind = .nothing
    /// Whether the option may be given more than once; each value counts.
    var repeats = false

    static func flag(_ name: String, _ letter: Character? = nil, _ summary: String) -> Self {
        Self(name: name, letter: letter, valueName: nil, summary: summary)
    }

    static func value(
        _ name: String,
        _ letter: Character? = nil,
        _ valueName: String,
        _ summary: String,
        completion: CompletionKind = .nothing,
        repeats: Bool = false
    ) -> Self {
        Self(
            name: name,
            letter: letter,
            valueName: valueName,
            summary: summary,
            completion: completion,
            repeats: repeats
        )
    }
}

/// One positional argument of a command.
struct ArgumentSchema: Sendable, Equatable {
    enum Count: Sendable, Equatable {
        case required
        case optional
        case oneOrMore
        case zeroOrMore
    }

    /// The name in capitals, as the help prints it.
    @ByBytes var name: String
    var summary: String
    var count: Count = .required
    var completion: CompletionKind = .nothing

    /// The database argument that nearly every command begins with.
    static let database = ArgumentSchema(
        name: "DB",
        summary: "Path of a database: a NAME.divan directory.",
        completion: .database
    )

    static let document = ArgumentSchema(name: "ID", summary: "ID of a document.")

    /// The argument as a usage line shows it.
    var usage: String {
        switch count {
        case .required: name
        case .optional: "[\(name)]"
        case .oneOrMore: "\(name)..."
        case .zeroOrMore: "[\(name)...]"
        }
    }
}
