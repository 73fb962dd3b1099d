// SPDX-License-Identifier: Apache-2.0

/// What the command line asks for.
struct Options {
    static let usage = """
        usage: make bench ARGUMENTS="[options]"    or    scripts/bench [options]

          --only NAME[,NAME…]   only workloads whose name begins with one of these, or is NAME=
          --count N[,N…]        documents in the database (default 100000); all is done for each number
          --runs N              runs of each, of which the median counts (default 5)
          --quick               10,000 documents, 3 runs
          --smoke               500 documents, 1 run, no results kept: does it all still work?
          --floors              only the floors, not Divan
          --plot FILE           draw how LMDB compares with SQLite, as SVG
          --engines NAME[,…]    only these engines, as the table names them
          --results FILE        where the JSON lines are appended (default results.jsonl)
          --commit NAME         the commit that is measured, for the results
          --keep NAME           make this run results/NAME.jsonl, and write the tables of the docs
          --help                this text
        """

    var only: [String] = []
    var counts = [100_000]
    var runs = 5
    var floorsOnly = false
    var results = "results.jsonl"
    var commit: String?
    var plot: String?
    var engines: [String] = []

    /// Reads the arguments; the error is a sentence for the user.
    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--only":
                only = try names(of: argument, &rest)
            case "--count":
                counts = try names(of: argument, &rest).map { try number($0, of: argument) }
            case "--runs":
                runs = try number(value(of: argument, &rest), of: argument)
            case "--quick":
                (counts, runs) = ([10_000], 3)
            case "--smoke":
                (counts, runs, results) = ([500], 1, "/dev/null")
            case "--floors":
                floorsOnly = true
            case "--plot":
                plot = try value(of: argument, &rest)
            case "--engines":
                engines = try names(of: argument, &rest)
            case "--results":
                results = try value(of: argument, &rest)
            case "--commit":
                commit = try value(of: argument, &rest)
            default:
                throw RunFailure(description: "unknown option \(argument)\n\(Self.usage)")
            }
        }
    }

    func includes(_ workload: String) -> Bool {
        only.isEmpty
            || only.contains { name in
                name.hasSuffix("=") ? workload == name.dropLast() : workload.hasPrefix(name)
            }
    }

    private func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
        guard let value = rest.popFirst() else {
            throw RunFailure(description: "\(option) needs a value")
        }
        return value
    }

    private func names(of option: String, _ rest: inout ArraySlice<String>) throws -> [String] {
        try value(of: option, &rest).split(separator: ",").map(String.init)
    }

    private func number(_ text: String, of option: String) throws -> Int {
        guard let number = Int(text), number > 0 else {
            throw RunFailure(description: "\(option) needs a positive number")
        }
        return number
    }
}
