// SPDX-License-Identifier: Apache-2.0

/// How records follow each other in the input of `divan import`.
enum ImportFormat: String, CaseIterable, Sendable {
    /// Found out from the beginning of the input.
    case auto
    /// One object a line.
    case lines
    /// The elements of one array.
    case array
    /// Objects one after the other, each over any number of lines.
    case values
    /// A dump of CouchDB: `_all_docs?include_docs=true`, `_changes?include_docs=true`, or what
    /// `_bulk_docs` takes.
    case couchdb
}

/// What the input turned out to be: how to cut it, and how to take a document out of a record.
struct ImportLayout: Equatable, Sendable {
    enum Cut: Equatable, Sendable {
        case lines
        case values
        case elements(path: [[String]])
    }

    /// The member of CouchDB's answers that holds the rows, in each of its three forms.
    static let dumpKeys = ["rows", "docs", "results"]

    var cut: Cut
    /// Whether a record is a row around a document, which is its property `doc`.
    var mayBeRows = false

    func makeSplitter() -> any RecordSplitter {
        switch cut {
        case .lines: LineSplitter()
        case .values: ValueSplitter()
        case .elements(let path): ElementSplitter(path: path)
        }
    }

    /// Decides from what the user said, by `--format` and by `--key`, and from the first bytes.
    static func choose(
        _ format: ImportFormat, keyPath: [String], head: Span<UInt8>
    ) throws(CommandFailure) -> ImportLayout {
        if !keyPath.isEmpty {
            guard format == .auto || format == .array else {
                throw CommandFailure(.usage, "--key goes with arrays, not with this --format.")
            }
            return ImportLayout(cut: .elements(path: keyPath.map { [$0] }))
        }
        switch format {
        case .lines: return ImportLayout(cut: .lines)
        case .values: return ImportLayout(cut: .values)
        case .array: return ImportLayout(cut: .elements(path: []))
        case .couchdb: return ImportLayout(cut: .elements(path: [dumpKeys]), mayBeRows: true)
        case .auto: return try InputHead(head).layout()
        }
    }
}
