// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

extension Command {
    /// `divan manual`: the help as pages of the system's manual.
    static let manual = Command(
        CommandSchema(
            name: "manual",
            summary: "Print a page for the system's manual.",
            discussion: """
                Packages install these pages, so that "man divan" and "man divan-serve" show them. Without a \
                command it is the page of divan itself.
                """,
            arguments: [
                ArgumentSchema(
                    name: "COMMAND", summary: "The command that the page is about.",
                    count: .optional)
            ],
            examples: ["divan manual serve | man -l -", "divan manual > divan.1"])
    ) { invocation in
        let schemas = CommandTable.all.map(\.schema)
        guard let name = invocation.arguments.optionalArgument("COMMAND") else {
            return try invocation.output.out.write(
                ManualPage.overview(of: schemas, version: Manager.version))
        }
        guard let schema = schemas.first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw UsageError(
                "There is no command \"\(name)\"."
                    + Suggestion.sentence(for: name, among: schemas.map(\.name)))
        }
        try invocation.output.out.write(ManualPage.page(for: schema, version: Manager.version))
    }
}
