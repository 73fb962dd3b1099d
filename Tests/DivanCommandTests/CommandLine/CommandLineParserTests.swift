// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanCommand

@Suite struct CommandLineParserTests {
    static let schema = CommandSchema(
        name: "sample",
        summary: "Shows what can be parsed.",
        arguments: [
            .database,
            ArgumentSchema(name: "ID", summary: "Documents.", count: .zeroOrMore),
        ],
        options: [
            .flag("long", "l", "Show more."),
            .value("limit", "n", "COUNT", "How many."),
            .value("set", nil, "KEY=JSON", "What to set.", repeats: true),
            .value("order", nil, "ORDER", "Which.", completion: .choices(["up", "down"])),
        ])

    private func parse(_ words: String...) throws -> ParsedArguments {
        try CommandLineParser.parse(words, by: Self.schema)
    }

    private func failure(_ words: String...) -> String? {
        do {
            _ = try CommandLineParser.parse(words, by: Self.schema)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `arguments are taken in order and the last takes the rest`() throws {
        let arguments = try parse("a.divan", "x", "y")
        #expect(try arguments.argument("DB") == "a.divan")
        #expect(arguments.argumentList("ID") == ["x", "y"])
    }

    @Test(arguments: [
        ["db", "--limit", "5"], ["--limit=5", "db"], ["-n", "5", "db"], ["db", "-n5"],
        ["-ln5", "db"], ["-ln", "5", "db"],
    ])
    func `a value may be attached or follow, before or after the arguments`(
        _ words: [String]
    ) throws {
        let arguments = try CommandLineParser.parse(words, by: Self.schema)
        #expect(try arguments.count("limit") == 5)
        #expect(try arguments.argument("DB") == "db")
    }

    @Test func `a value may be empty, hold an equals sign or begin with a dash`() throws {
        #expect(try parse("db", "--limit=").string("limit") == "")
        #expect(try parse("db", "--set=a=b").strings("set") == ["a=b"])
        #expect(try parse("db", "--limit", "-5").string("limit") == "-5")
    }

    @Test func `flags are there or not`() throws {
        #expect(try parse("db", "-l").flag("long"))
        #expect(try !parse("db").flag("long"))
    }

    @Test func `only a repeating option may be given twice`() throws {
        #expect(try parse("db", "--set", "a=1", "--set", "b=2").strings("set") == ["a=1", "b=2"])
        #expect(failure("db", "-n", "1", "--limit", "2") == "--limit is given twice.")
        #expect(failure("db", "-ll") == "-l is given twice.")
    }

    @Test func `two dashes end the options and one dash is an argument`() throws {
        #expect(try parse("db", "--", "--long", "-x").argumentList("ID") == ["--long", "-x"])
        #expect(try parse("db", "-").argumentList("ID") == ["-"])
    }

    @Test func `an unknown option is an error that suggests the nearest`() {
        #expect(failure("db", "--limt", "5") == "Unknown option --limt. Did you mean --limit?")
        #expect(failure("db", "--zzz") == "Unknown option --zzz.")
        #expect(failure("db", "-z")?.hasPrefix("Unknown option -z.") == true)
    }

    @Test func `missing and superfluous words are errors`() {
        #expect(failure() == "DB is missing.")
        #expect(failure("db", "--limit") == "--limit needs a value: --limit COUNT.")
        #expect(failure("db", "--long=yes") == "--long is a flag and takes no value.")
        let bare = CommandSchema(name: "bare", summary: "")
        #expect(throws: UsageError("Unexpected argument \"x\".")) {
            try CommandLineParser.parse(["x"], by: bare)
        }
    }

    @Test func `a required list must have an element`() throws {
        let schema = CommandSchema(
            name: "cat", summary: "",
            arguments: [ArgumentSchema(name: "ID", summary: "", count: .oneOrMore)])
        #expect(throws: UsageError("ID is missing.")) {
            try CommandLineParser.parse([], by: schema)
        }
        #expect(try CommandLineParser.parse(["a", "b"], by: schema).argumentList("ID").count == 2)
    }

    @Test func `a choice must be one of those named`() throws {
        #expect(try parse("db", "--order", "up").string("order") == "up")
        #expect(
            failure("db", "--order", "left") == "--order takes one of up, down, not \"left\".")
    }

    @Test func `help needs no arguments`() throws {
        #expect(try parse("--help").flag("help"))
        #expect(try parse("-h").flag("help"))
    }

    @Test(arguments: ["-1", "x", "1.5", "", "99999999999999999999"])
    func `a count is a whole number of 0 or more`(_ text: String) throws {
        let arguments = try parse("db", "--limit=\(text)")
        #expect(throws: UsageError.self) { try arguments.count("limit") }
    }
}
