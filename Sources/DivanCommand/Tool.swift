// SPDX-License-Identifier: Apache-2.0

internal import Divan

/// The tool as a function: words in, an exit status out.
struct Tool: Sendable {
    /// The version that `divan --version` prints.
    static let version = Manager.version
    /// The commit that a package was built from, as `divan --version` prints it; empty for other builds.
    static let commit = BuildInformation.commit.isEmpty ? "" : " (\(BuildInformation.commit))"

    var environment: EnvironmentVariables = [:]
    var interruption = Interruption()
    /// Replaces the process's own outputs, in tests.
    var output: Output?

    /// Runs the command line of the process; nil for one that is not UTF-8, which names another file than was meant.
    func run(arguments: [String]?) async -> ExitCode {
        if let arguments { return await run(arguments) }
        makeOutput(nil).failure(
            "A word of the command line is not UTF-8; give names and values in UTF-8.")
        return .usage
    }

    /// Runs one command line, without the program's name at its head.
    func run(_ words: [String]) async -> ExitCode {
        let plainOutput = makeOutput(nil)
        guard let name = words.first else {
            plainOutput.complain(overview)
            return .usage
        }
        let rest = Array(words.dropFirst())
        switch name {
        case "--version":
            return print("divan \(Self.version)\(Self.commit)\n", plainOutput)
        case "--help", "-h":
            return print(overview, plainOutput)
        case "help":
            guard let topic = rest.first else { return print(overview, plainOutput) }
            return await run([topic, "--help"])
        default:
            break
        }
        guard let command = CommandTable.command(named: name) else {
            let names = CommandTable.all.map(\.schema.name)
            plainOutput.failure(
                "Unknown command \"\(name)\"." + Suggestion.sentence(for: name, among: names)
                    + " \"divan --help\" lists the commands.")
            return .usage
        }
        return await run(command, rest)
    }

    private func run(_ command: Command, _ words: [String]) async -> ExitCode {
        var output = makeOutput(nil)
        do {
            let typed = try CommandLineParser.parse(words, by: command.schema)
            output = makeOutput(typed)
            if typed.flag("help") {
                return print(HelpText.page(for: command.schema), output)
            }
            let arguments = try OptionsFile.completing(typed, command.schema)
            output = makeOutput(arguments)
            let log = try CommandLog(arguments, environment)
            defer { log.end() }
            let key =
                command.schema.opensDatabase
                ? try KeySource.key(
                    arguments, environment, interruption,
                    isNew: command.schema.name == "create") : nil
            try await command.run(
                Invocation(
                    arguments: arguments, typed: typed, output: output,
                    environment: environment, interruption: interruption, log: log, key: key))
            try output.out.flush()
            return .success
        } catch let error as UsageError {
            output.failure(error.message + " \"divan \(command.schema.name) --help\" tells more.")
            return .usage
        } catch {
            // What was already answered is answered, whatever came after it.
            try? output.out.flush()
            let failure = CommandFailure(describing: error)
            output.failure(failure.message)
            return failure.status
        }
    }

    private var overview: String {
        HelpText.overview(of: CommandTable.all.map(\.schema), version: Self.version)
    }

    private func print(_ text: String, _ output: Output) -> ExitCode {
        do {
            try output.out.write(text)
            try output.out.flush()
            return .success
        } catch {
            output.failure(error.message)
            return error.status
        }
    }

    private func makeOutput(_ arguments: ParsedArguments?) -> Output {
        let isQuiet = arguments?.flag("quiet") ?? false
        if var output {
            output.isQuiet = isQuiet
            return output
        }
        let choice = arguments?.string("color").flatMap(Terminal.ColorChoice.init(rawValue:))
        return .standard(environment: environment, choice: choice ?? .auto, isQuiet: isQuiet)
    }
}
