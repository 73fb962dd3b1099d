// SPDX-License-Identifier: Apache-2.0

package import Divan
import DivanTestSupport
import FoundationEssentials

/// The process that the robustness tests start, watch and kill.
///
///     DivanTestChild batches DIRECTORY SEED KEEPING  writes numbered batches until it is killed
///     DivanTestChild secrets DIRECTORY SEED          writes secret words until it is killed
///     DivanTestChild mapped DIRECTORY SIZE           does what lines say with a small map of LMDB's
///     DivanTestChild expire DIRECTORY SEED           writes documents that expire until it is killed
///     DivanTestChild count DIRECTORY NAME BATCHES    counts up in a document that others count in
///     DivanTestChild crowd DIRECTORY NAME KEEPING    saves single documents on many threads until it is killed
///     DivanTestChild attach DIRECTORY SEED           adds, removes and sweeps attachments until it is killed
///     DivanTestChild large DIRECTORY MEGABYTES       streams one attachment in and out
///     DivanTestChild contents DIRECTORY NAME SEED ROUNDS    adds and removes ten contents that others do, too
///     DivanTestChild serve DIRECTORY                 does what lines on its input say
///     DivanTestChild fixture DIRECTORY               makes the databases that bits are flipped in
///     DivanTestChild flip GOLDEN SCRATCH SEED FROM TO    flips bits and compares all answers
///     DivanTestChild judge GOLDEN DIRECTORY …        compares damaged copies of `closed` with it
///     DivanTestChild replace DIRECTORY SEED          replaces the database `app` until it is killed
///     DivanTestChild convert DIRECTORY SEED          moves the database `app` between engines until it is killed
///     DivanTestChild rekey DIRECTORY KEY SEED        changes how a database is encrypted until it is killed
///     DivanTestChild clone DIRECTORY COPY WORD       writes sealed rows, and goes on in two copies of itself
///     DivanTestChild recopy DIRECTORY SEED           copies databases with another encryption until it is killed
///     DivanTestChild import DIRECTORY SOURCE         imports a Couchbase Lite database until it is killed
///     DivanTestChild unprivileged DIRECTORY TARGET   reads and installs a database as an unprivileged user
///     DivanTestChild index DIRECTORY [text]          builds a view from nothing until it is killed
///     DivanTestChild databases DIRECTORY ROUNDS      makes and deletes databases, and says what stays behind
///     DivanTestChild conversations DIRECTORY ROUNDS  begins and ends replications and feeds, and says what stays
///     DivanTestChild peers FROM TO SEED              replicates with a server that lies, and says each round
///     DivanTestChild golden FOLDER KEEPING           makes a database that later releases must read; see scripts/golden
///     DivanTestChild hoard ANSWER                    replicates with a server that wants its memory
///     DivanTestChild weigh FORM TEXT BYTES           parses a text and says what that took
///     DivanTestChild leave MICROSECONDS              exits while threads save documents and make connections
///     DivanTestChild shared DIRECTORY                asks for the shared manager from many threads
///     DivanTestChild discover [USER]                 announces and finds services as lines on its input say
///
/// It reports on its output, a line each; trouble goes to the error output and ends it with 1.
@main
enum DivanTestChild {
    static func main() {
        _ = TestEncryption.isOn
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard !arguments.isEmpty else { return }
        let mode = arguments.removeFirst()
        do {
            switch mode {
            case "batches":
                var writer = try BatchWriter(arguments)
                try writer.run()
            case "secrets":
                var writer = try SecretWriter(arguments)
                try writer.run()
            case "mapped":
                var file = try MappedFile(arguments)
                try file.run()
            case "expire":
                var writer = try ExpiringWriter(arguments)
                try writer.run()
            case "count": try CountingWriter(arguments).run()
            case "crowd": try CrowdWriter(arguments).run()
            case "attach":
                var writer = try AttachmentWriter(arguments)
                try writer.run()
            case "large": try LargeContent(arguments).run()
            case "contents":
                var writer = try ContentWriter(arguments)
                try writer.run()
            case "serve": try CommandResponder(arguments).run()
            case "golden": try GoldenDatabase.make(arguments)
            case "fixture": try DamageFixture.make(in: arguments.argument(0))
            case "judge": try DamageJudge(arguments).run()
            case "replace":
                var replacer = try Replacer(arguments)
                try replacer.run()
            case "convert":
                var converter = try Converter(arguments)
                try converter.run()
            case "rekey":
                var rekeyer = try Rekeyer(arguments)
                try rekeyer.run()
            case "clone": try ClonedWriter(arguments).run()
            case "recopy":
                var recopier = try Recopier(arguments)
                try recopier.run()
            case "import": try Migrator(arguments).run()
            case "unprivileged": try UnprivilegedReader(arguments).run()
            case "index": try IndexBuilder(arguments).run()
            case "shared": try SharedManager(arguments).run()
            case "databases": try DatabaseRounds(arguments).run()
            case "conversations": try ConversationRounds(arguments).run()
            case "hoard": try HoardRounds(arguments).run()
            case "weigh": try ParsingWeight(arguments).run()
            case "leave": try Leaving.run(arguments)
            case "peers": try PeerRounds(arguments).run()
            case "discover": try NetworkParty(arguments).run()
            case "flip": try FlipRounds(arguments).run()
            default: throw WrongArguments()
            }
        } catch {
            Report.trouble("\(mode): \(error)")
        }
    }
}

/// The arguments are not those that a mode needs.
struct WrongArguments: Error {}

extension [String] {
    /// The argument at a position.
    func argument(_ position: Int) throws -> String {
        guard indices.contains(position) else { throw WrongArguments() }
        return self[position]
    }

    /// The number at a position.
    func number<Number: FixedWidthInteger>(_ position: Int) throws -> Number {
        guard let number = Number(try argument(position)) else { throw WrongArguments() }
        return number
    }
}

extension Database {
    /// Opens a database with a short patience, so that a hang is found soon.
    package static func forTest(
        at path: String, create: Bool = false, readOnly: Bool = false,
        busyTimeout: Duration = .seconds(30), indexingMemory: Int? = nil,
        keeping: Keeping? = nil
    ) throws -> Database {
        _ = TestEncryption.isOn
        var options = DatabaseOptions()
        if let indexingMemory { options.indexingMemory = indexingMemory }
        options.create = create
        options.readOnly = readOnly
        options.busyTimeout = busyTimeout
        try keeping?.apply(to: &options)
        return try open(at: URL(filePath: path), options: options)
    }
}
