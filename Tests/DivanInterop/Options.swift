// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import FoundationEssentials

/// What the command line asks for.
struct Options {
    /// How much is done.
    enum Amount: String {
        /// Seconds: so that a change that breaks the harness is found.
        case quick
        /// Some minutes.
        case usual
        /// As much as is worth a night.
        case full
    }

    static let usage = """
        usage: scripts/interop [options] [URL] [PART …]

          URL                   a CouchDB, such as http://admin:secret@127.0.0.1:5984, or a listener;
                                without it a listener of this program stands in
          PART                  only these parts; all without it

          --list                the parts, and what each does
          --seed N              repeats the random choices of a run
          --quick, --full       less, or much more, of everything that is random
          --show-explained      tells the differences that have a reason, too
          --kill-command CMD    kills the server (by sh), for the part `kills`
          --start-command CMD   starts it again

        The exit code is 0 when both ends differ in nothing but what the table of the harness explains, 1 when they
        do, and 2 when it could not work.
        """

    var server: HTTPURL?
    var parts: [String] = []
    var seed = UInt64.random(in: 1...UInt64(UInt32.max))
    var amount = Amount.usual
    var showsExplained = false
    var killCommand: String?
    var startCommand: String?
    var lists = false
    var asksForHelp = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--list": lists = true
            case "--quick": amount = .quick
            case "--full": amount = .full
            case "--show-explained": showsExplained = true
            case "--seed":
                guard let number = rest.popFirst().flatMap({ UInt64($0) }) else {
                    throw Trouble("--seed takes a number.")
                }
                seed = number
            case "--kill-command": killCommand = rest.popFirst()
            case "--start-command": startCommand = rest.popFirst()
            case "--help", "-h": asksForHelp = true
            default: try take(argument)
            }
        }
        guard (killCommand == nil) == (startCommand == nil) else {
            throw Trouble("--kill-command and --start-command go together.")
        }
    }

    private mutating func take(_ argument: String) throws {
        if argument.contains("://") {
            do { server = try HTTPURL(argument) } catch { throw Trouble("\(error)") }
        } else if Part.all.contains(where: { $0.name == argument }) {
            parts.append(argument)
        } else {
            throw Trouble("There is no part '\(argument)'; --list shows them.")
        }
    }

    /// How often to do something, by how much is wanted.
    func count(_ quick: Int, _ usual: Int, _ full: Int) -> Int {
        switch amount {
        case .quick: quick
        case .usual: usual
        case .full: full
        }
    }
}

/// Why the harness cannot go on; a sentence.
struct Trouble: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
