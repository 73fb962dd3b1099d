// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanCommand

@Suite struct ManualPageTests {
    @Test(arguments: CommandTable.all.map(\.schema))
    func `a page has all options and is right in the language of pages`(_ schema: CommandSchema) {
        let page = ManualPage.page(for: schema, version: "1.2.3")
        #expect(page.hasPrefix(".TH \"DIVAN\\-"))
        for option in schema.allOptions {
            #expect(page.contains("\\-\\-" + ManualPage.escaped(option.name)), "\(option.name)")
        }
        let requests: Set = [
            ".TH", ".SH", ".B", ".BR", ".I", ".TP", ".PP", ".EX", ".EE",
        ]
        for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(requests.contains(String(line.prefix { $0 != " " })), "\(line)")
        }
        // Each backslash begins an escape that is meant.
        for rest in page.split(separator: "\\", omittingEmptySubsequences: false).dropFirst() {
            #expect(rest.first.map { "-ef&".contains($0) } == true, "\(rest.prefix(20))")
        }
    }

    @Test func `texts that look like requests and escapes are texts`() {
        var schema = CommandSchema(name: "x", summary: "A.")
        schema.discussion = ".hidden is a file\n'quoted'\nC:\\temp"
        let page = ManualPage.page(for: schema, version: "1")
        #expect(page.contains("\n\\&.hidden is a file\n"))
        #expect(page.contains("\n\\&'quoted'\n"))
        #expect(page.contains("C:\\etemp"))
    }

    @Test func `the tool prints the page of a command, and its own`() throws {
        let tool = try TestTool()
        #expect(
            try tool.run("manual", "serve").out
                == ManualPage.page(for: Command.serve.schema, version: Tool.version))
        let own = try tool.run("manual").out
        for command in CommandTable.all {
            #expect(own.contains(".BR divan\\-\(ManualPage.escaped(command.schema.name)) (1)"))
        }
        let unknown = try tool.run("manual", "serv")
        #expect(unknown.status == 2 && unknown.err.contains("Did you mean serve?"))
    }
}
