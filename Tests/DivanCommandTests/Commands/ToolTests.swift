// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanCommand

@Suite struct ToolTests {
    private func run(_ words: String...) async -> (status: ExitCode, out: String, err: String) {
        let output = Output.inMemory()
        let status = await Tool(output: output).run(words)
        return (status, output.out.contents, output.err.contents)
    }

    @Test func `without words it shows what it can do, as a usage error`() async {
        let result = await run()
        #expect(result.status == .usage)
        #expect(result.out.isEmpty)
        #expect(result.err.contains("Usage: divan COMMAND"))
    }

    @Test(arguments: ["--help", "-h", "help"])
    func `help is a result`(_ word: String) async {
        let result = await run(word)
        #expect(result.status == .success)
        #expect(result.out.contains("Commands:"))
        #expect(result.err.isEmpty)
    }

    @Test(arguments: CommandTable.all.map(\.schema.name))
    func `every command has help by both ways`(_ name: String) async {
        let first = await run(name, "--help")
        let second = await run("help", name)
        #expect(first.status == .success)
        #expect(first.out.hasPrefix("Usage: divan \(name) "))
        #expect(first.out == second.out)
    }

    @Test func `the version is one line`() async {
        let result = await run("--version")
        #expect(result.out == "divan \(Tool.version)\n")
    }

    @Test func `an unknown command suggests one`() async {
        let result = await run("completion")
        #expect(result.status == .usage)
        #expect(result.err.contains("Did you mean completions?"))
        #expect(result.err.split(separator: "\n").count == 1)
    }

    @Test func `a usage error is one sentence that names the help`() async {
        let result = await run("completions")
        #expect(result.status == .usage)
        #expect(
            result.err == "divan: SHELL is missing. \"divan completions --help\" tells more.\n")
    }

    @Test(arguments: ["compact", "verify", "ls", "cat", "export", "changes", "inspect", "import"])
    func `a command that is interrupted says so and changes nothing`(_ name: String) async throws {
        let files = try TestTool()
        try files.run("import", "db", "--create", input: "{}\n{}\n")
        let interruption = Interruption()
        interruption.request()
        let output = Output.inMemory()
        let tool = Tool(interruption: interruption, output: output)
        #expect(await tool.run([name, files.path("db.divan")]) == .interrupted)
        #expect(output.err.contents.hasPrefix("divan: Interrupted"))
        #expect(try files.run("verify", "db").status == 0)
        #expect(try files.run("ls", "db").lines.count == 2)
    }

    @Test(arguments: [
        (DatabaseError.Code.conflict, ExitCode.conflict), (.documentNotFound, .notFound),
        (.databaseNotFound, .notFound), (.invalidDocument, .badInput), (.databaseBusy, .busy),
        (.corrupted, .corrupted), (.io, .failure), (.storageFull, .failure),
        (.cancelled, .interrupted),
    ])
    func `an error's code decides the exit code`(_ code: DatabaseError.Code, _ exit: ExitCode) {
        let failure = CommandFailure(describing: DatabaseError(code, "What happened."))
        #expect(failure == CommandFailure(exit, "What happened."))
    }

    @Test func `completions are printed for bash and zsh only`() async {
        #expect(await run("completions", "bash").out.contains("complete -F _divan divan"))
        #expect(await run("completions", "zsh").out.hasPrefix("#compdef divan"))
        #expect(await run("completions", "fish").status == .usage)
    }
}
