// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import FoundationEssentials

extension Command {
    /// `divan expire`: when documents go by themselves.
    static let expire = Command(
        CommandSchema(
            name: "expire",
            summary: "Set when documents expire, show it, or purge those that are due.",
            discussion: """
                A document that expires is purged at its date by any program that has the database \
                open for writing, or by --now. New revisions keep the date. With an ID and no \
                option its date is shown; without an ID, the documents that expire are listed, the \
                next one first.
                """,
            arguments: [
                .database,
                ArgumentSchema(name: "ID", summary: "ID of a document.", count: .optional),
            ],
            options: [
                .value("at", nil, "DATE", "Let it expire at a date such as 2027-01-31T12:00:00Z."),
                .value(
                    "in", nil, "DURATION",
                    "Let it expire after a time such as 90s, 15m, 12h or 30d."),
                .flag("clear", nil, "Let it stay."),
                .flag("show", nil, "Show its date, or \"never\"."),
                .flag("now", nil, "Purge all documents that are due."),
                .value("limit", "n", "COUNT", "List so many at most."),
                .flag("json", nil, "Print JSON objects."),
            ],
            examples: [
                "divan expire notes.divan n1 --in 30d", "divan expire notes.divan n1 --clear",
                "divan expire notes.divan --now",
            ])
    ) { invocation in
        switch try ExpireAction(invocation.arguments) {
        case .set(let id, let date):
            let database = try invocation.openDatabase(forWriting: true)
            defer { database.close() }
            try database.setExpiration(of: id, at: date)
            // A date in the past is no longer there to be shown, once its document is purged.
            try invocation.show(id, date)
        case .show(let id):
            let database = try invocation.openDatabase()
            defer { database.close() }
            guard try database.revisionTree(of: id) != nil else {
                throw CommandFailure(.notFound, "There is no document \"\(id)\".")
            }
            try invocation.show(id, try database.expirationDate(of: id))
        case .list(let limit):
            let database = try invocation.openDatabase()
            defer { database.close() }
            for found in try database.documentsExpiring(limit: limit) {
                try invocation.show(found.documentID, found.date, isListed: true)
            }
        case .purge:
            let database = try invocation.openDatabase(forWriting: true)
            defer { database.close() }
            let count = try invocation.withProgress("Expiring") { progress in
                try database.purgeExpired(progress: progress)
            }
            if invocation.arguments.flag("json") {
                try invocation.output.line("{\"purged\":\(count)}")
            } else {
                try invocation.output.line("Purged \(Quantity.counted(count, "document")).")
            }
        }
    }
}

/// What one use of `divan expire` asks for.
enum ExpireAction: Equatable {
    case set(DocumentID, Date?)
    case show(DocumentID)
    case list(limit: Int?)
    case purge

    init(_ arguments: ParsedArguments, now: Date = Date()) throws(UsageError) {
        let given = ["at", "in", "clear", "show", "now"].filter { arguments.flag($0) }
        guard given.count <= 1 else {
            throw UsageError("--\(given[0]) and --\(given[1]) do not go together.")
        }
        guard let id = arguments.documentID else {
            guard let option = given.first else {
                self = .list(limit: try arguments.count("limit"))
                return
            }
            guard option == "now" else { throw UsageError("--\(option) goes with an ID.") }
            self = .purge
            return
        }
        guard !arguments.flag("limit") else { throw UsageError("--limit goes without an ID.") }
        switch given.first {
        case "now": throw UsageError("--now is for all documents and goes without an ID.")
        case "clear": self = .set(id, nil)
        case "at": self = .set(id, try Self.date(arguments.string("at") ?? ""))
        case "in":
            let span = try Self.seconds(arguments.string("in") ?? "")
            self = .set(id, now.addingTimeInterval(span))
        default: self = .show(id)
        }
    }

    private static func date(_ text: String) throws(UsageError) -> Date {
        guard let milliseconds = ISO8601.parse(text) else {
            throw UsageError(
                "--at takes a date such as 2027-01-31 or 2027-01-31T12:00:00Z, not \"\(text)\".")
        }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }

    /// Reads `90s`, `1d12h` and the like; a number alone is seconds.
    static func seconds(_ text: String) throws(UsageError) -> Double {
        let units: [Character: Double] = [
            "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_557_600,
        ]
        var total = 0.0
        var digits = ""
        for character in text {
            if character.isASCII, character.isNumber || character == "." {
                digits.append(character)
            } else if let unit = units[character], let number = Double(digits) {
                total += number * unit
                digits = ""
            } else {
                throw Self.badDuration(text)
            }
        }
        if !digits.isEmpty {
            // Only alone: in "1d12" the unit of the 12 would be unclear.
            guard digits == text, let number = Double(digits) else { throw Self.badDuration(text) }
            total = number
        }
        guard !text.isEmpty else { throw Self.badDuration(text) }
        return total
    }

    private static func badDuration(_ text: String) -> UsageError {
        UsageError(
            "--in takes a time such as 90s, 15m, 12h, 30d, 2w, 10y or 1d12h, not \"\(text)\".")
    }
}

extension Invocation {
    /// Shows when a document expires: the date alone, or in a list with the ID behind it.
    fileprivate func show(_ id: DocumentID, _ date: Date?, isListed: Bool = false) throws {
        let text = date?.jsonValue.string
        if arguments.flag("json") {
            var json = Array("{".utf8)
            DocumentText.append("id", .string(id.text), to: &json)
            DocumentText.append("expires", text.map { .string($0) } ?? .null, to: &json)
            try output.json(json + [JSONByte.closeBrace], pretty: false)
        } else {
            let words = text ?? "never"
            try output.line(isListed ? "\(words)  \(PrintableText.escaping(id.text))" : words)
        }
    }
}
