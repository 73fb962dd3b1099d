// SPDX-License-Identifier: Apache-2.0

extension Command {
    /// `divan completions`: what a shell needs to complete divan's command lines.
    static let completions = Command(
        CommandSchema(
            name: "completions",
            summary: "Print the completion script of a shell.",
            arguments: [
                ArgumentSchema(
                    name: "SHELL", summary: "bash or zsh.", completion: .choices(["bash", "zsh"]))
            ],
            examples: [
                "source <(divan completions bash)",
                "divan completions zsh > ~/.zfunc/_divan",
            ])
    ) { invocation in
        let schemas = CommandTable.all.map(\.schema)
        switch try invocation.arguments.argument("SHELL") {
        case "bash": try invocation.output.out.write(BashCompletion.script(for: schemas))
        case "zsh": try invocation.output.out.write(ZshCompletion.script(for: schemas))
        case let other:
            throw UsageError("There are completions for bash and zsh, not for \"\(other)\".")
        }
    }
}
