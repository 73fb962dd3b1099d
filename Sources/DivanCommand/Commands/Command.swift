// SPDX-License-Identifier: Apache-2.0

internal import Divan

/// A subcommand: its words, and what it does.
struct Command: Sendable {
    let schema: CommandSchema
    /// Does the work. A command that returns has succeeded; one that fails says how by throwing.
    let run: @Sendable (Invocation) async throws -> Void

    /// A command that does its work on the calling thread.
    init(_ schema: CommandSchema, run: @escaping @Sendable (Invocation) throws -> Void) {
        self.schema = schema
        self.run = { invocation in try run(invocation) }
    }

    /// A command that may wait for something other than work of its own.
    init(
        _ schema: CommandSchema, waiting run: @escaping @Sendable (Invocation) async throws -> Void
    ) {
        self.schema = schema
        self.run = run
    }
}

// Not by bytes: the shell of the user sets them, and they are asked for by names that stand in the source.
/// The variables of the process's environment, by name.
typealias EnvironmentVariables = [String: String]

/// One use of a command: what the user wrote, and where the answer goes.
struct Invocation: Sendable {
    var arguments: ParsedArguments
    /// What was typed: without the options of a file.
    let typed: ParsedArguments
    let output: Output
    let environment: EnvironmentVariables
    let interruption: Interruption
    let log: CommandLog
    /// The key of the databases that the command opens, when it was given one.
    let key: EncryptionKey?

    /// The default options, with the key.
    var databaseOptions: DatabaseOptions {
        var options = DatabaseOptions()
        options.encryptionKey = key
        return options
    }
}
