// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

/// One run of `divan import`: input in, batches of documents out.
///
/// ```
/// bytes ── splitter ── record ── reader ── document ──┐
///                        │                            ├─ batch ── one transaction
///                        └─ problem, reported ────────┘  of 1,000
/// ```
///
/// Memory holds one chunk of input and one batch. A batch is committed whole or not at all; an
/// interruption and a strict stop come between batches, so what was reported as imported is.
struct Importer {
    /// So many records in a row from the beginning, and none of them good: the format is wrong.
    private static let hopeless = 1_000

    struct Tally: Equatable {
        var imported = 0
        var unchanged = 0
        /// How many contents were missing of documents that were there.
        var supplied = 0
        var bad = 0

        var records: Int { imported + unchanged + bad }
    }

    /// A strict import met a bad record.
    private struct StrictStop: Error {
        var message: String
    }

    private let database: Database
    private let source: InputSource
    private let layout: ImportLayout
    private var reader: RecordReader
    private let isStrict: Bool
    private let interruption: Interruption
    private let bar: ProgressBar
    private let output: Output

    private var batch = ImportBatch()
    private(set) var tally = Tally()

    init(_ invocation: Invocation, database: Database, source: InputSource) throws {
        let arguments = invocation.arguments
        let head = try source.readHead()
        layout = try ImportLayout.choose(
            try arguments.choice("format", as: ImportFormat.self) ?? .auto,
            keyPath: try Self.keyPath(arguments.string("key")),
            head: head.span)
        reader = RecordReader(
            rules: try ImportRules(arguments), mayBeRows: layout.mayBeRows)
        isStrict = arguments.flag("strict")
        interruption = invocation.interruption
        output = invocation.output
        bar = ProgressBar("Importing", noun: "document", output: invocation.output)
        self.database = database
        self.source = source
    }

    /// `3166-1` names a key; `/data/items` is a JSON pointer through several.
    static func keyPath(_ text: String?) throws(UsageError) -> [String] {
        guard let text else { return [] }
        guard text.hasBytePrefix("/") else {
            if text.isEmpty { throw UsageError("--key is empty.") }
            return [text]
        }
        guard let pointer = JSONPointer(text) else {
            throw UsageError("\"\(text)\" is not a JSON pointer.")
        }
        return pointer.tokens
    }

    mutating func run() throws -> ProgressLine {
        defer { bar.finish() }
        do {
            try takeAll()
            try commitBatch()
        } catch let error where Self.isEndOfInput(error) {
            // What came before the end is good, whyever the input ends.
            do {
                try commitBatch()
            } catch let earlier as StrictStop {
                throw describe(earlier)
            }
            throw describe(error)
        } catch {
            throw describe(error)
        }
        return bar.finish()
    }

    private mutating func takeAll() throws {
        var splitter = layout.makeSplitter()
        var isOpen = true
        while isOpen {
            // A slow writer at the other end of a pipe: what it sent need not wait for the rest.
            if !batch.isEmpty, !source.isReady(within: 1_000) { try commitBatch() }
            isOpen = try source.nextChunk { chunk in
                try splitter.consume(chunk) { try take($0, $1) }
            }
        }
        try splitter.finish { try take($0, $1) }
    }

    /// Whether an error concerns the input and not the database.
    private static func isEndOfInput(_ error: any Error) -> Bool {
        error is SplitFailure || error is StrictStop || error is CommandFailure
    }

    private func describe(_ error: any Error) -> CommandFailure {
        let done = "\(Quantity.counted(tally.imported, "document")) imported before it stay."
        switch error {
        case let stop as StrictStop:
            return CommandFailure(.badInput, "\(stop.message) \(done)")
        case let failure as SplitFailure:
            return CommandFailure(
                .badInput, "\(source.name):\(failure.line): \(failure.message) \(done)")
        case let failure as CommandFailure where failure == Interruption.failure:
            return CommandFailure(
                failure.status,
                "Interrupted: \(Quantity.counted(tally.imported, "document")) imported, which stay."
            )
        case let failure as CommandFailure:
            return failure
        default:
            let failure = CommandFailure(describing: error)
            return CommandFailure(failure.status, "\(failure.message) \(done)")
        }
    }

    private mutating func take(_ record: Span<UInt8>, _ location: RecordLocation) throws {
        do {
            if location.isTooLong { throw RecordProblem("too long to be a document.") }
            batch.add(try reader.read(record), at: location, size: record.count)
        } catch let problem as RecordProblem {
            try report(problem.message, location)
            if tally.bad == Self.hopeless, tally.bad == tally.records + batch.count {
                throw CommandFailure(
                    .badInput,
                    "The first \(Quantity.grouped(Self.hopeless)) records are all bad; --format and"
                        + " --key say how to read the input.")
            }
        }
        if batch.isFull {
            try commitBatch()
            try interruption.check()
        }
    }

    /// Reports a record that cannot be imported.
    private mutating func report(_ message: String, _ location: RecordLocation) throws {
        let text = "\(source.name):\(location.line): record \(location.number): \(message)"
        if isStrict { throw StrictStop(message: text) }
        tally.bad += 1
        bar.printAbove(PrintableText.escaping(text))
    }

    private mutating func commitBatch() throws {
        guard !batch.isEmpty else { return }
        let outcome = try batch.store(in: database, by: reader.rules, stopsAtProblem: isStrict)
        batch.removeAll()
        tally.imported += outcome.stored
        tally.unchanged += outcome.unchanged
        tally.supplied += outcome.supplied
        for (message, location) in outcome.problems { try report(message, location) }
        bar.update(
            completed: source.size.map { min($0, source.position) }, total: source.size,
            count: tally.imported)
    }
}
