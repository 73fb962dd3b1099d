// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanCommand

@Suite struct HelpTextTests {
    @Test func `a page shows usage, arguments, options and examples`() {
        let page = HelpText.page(for: CommandLineParserTests.schema)
        #expect(page.hasPrefix("Usage: divan sample [OPTIONS] DB [ID...]\n"))
        for part in ["Arguments:", "Options:", "-l, --long", "-n, --limit COUNT", "--help"] {
            #expect(page.contains(part), "\(part)")
        }
    }

    @Test func `every command and exit code is in the overview`() {
        let schemas = CommandTable.all.map(\.schema)
        let text = HelpText.overview(of: schemas, version: "1")
        for schema in schemas { #expect(text.contains("  \(schema.name) ")) }
        for status in ExitCode.allCases { #expect(text.contains("  \(status.rawValue) ")) }
    }

    @Test(arguments: CommandTable.all.map(\.schema))
    func `no help line is wider than the page`(_ schema: CommandSchema) {
        let examples = Set(schema.examples.map { "  " + $0 })
        for line in HelpText.page(for: schema).split(separator: "\n") {
            #expect(line.count <= HelpText.width || examples.contains(String(line)), "\(line)")
        }
    }

    @Test(arguments: CommandTable.all.map(\.schema))
    func `no command has two options of one name or letter`(_ schema: CommandSchema) {
        let names = schema.allOptions.map(\.name)
        let letters = schema.allOptions.compactMap(\.letter)
        #expect(Set(names).count == names.count)
        #expect(Set(letters).count == letters.count)
    }

    @Test func `text is wrapped at spaces`() {
        #expect(HelpText.wrap("aa bb cc", width: 5) == ["aa bb", "cc"])
        #expect(HelpText.wrap("toolongword b", width: 5) == ["toolongword", "b"])
        #expect(HelpText.wrap("", width: 5).isEmpty)
    }
}

@Suite struct SuggestionTests {
    private let words = ["import", "export", "info", "inspect", "compact", "put", "ls"]

    @Test(arguments: [
        ("inport", "import"), ("imprt", "import"), ("pmiort", "import"), ("exprt", "export"),
        ("comp", "compact"), ("sl", "ls"), ("frobnicate", nil), ("i", nil), ("", nil),
    ])
    func `the nearest word is suggested if it is near`(_ word: String, _ expected: String?) {
        #expect(Suggestion.nearest(to: word, among: words) == expected)
    }

    @Test func `distance counts swapped neighbours once`() {
        #expect(Suggestion.distance("put", "ptu") == 1)
        #expect(Suggestion.distance("", "abc") == 3)
        #expect(Suggestion.distance("kitten", "sitting") == 3)
    }
}
