// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// Writes the rows that a view answered with in steps, so that neither their text nor their documents are
/// ever in memory as a whole; of the rows themselves only what they are read from is.
///
/// Documents are read when their rows are written, as CouchDB does: one that has changed meanwhile is
/// the newer one.
struct ViewListing: ResponseSteps {
    /// A step ends after so many rows, or when its text has become so long.
    private static let (mostRows, mostBytes) = (1_000, 256 << 10)

    private let call: Call
    private let result: QueryResult
    private let isReduced: Bool
    private let display: ViewDisplay
    /// Rows to pass over, and to write at most, of those that the user may see and that meet the box.
    var (toSkip, left) = (0, Int.max)
    private var nextRow = 0
    private var hasBegun = false
    private var hasRows = false
    private var isDone = false

    init(_ call: Call, _ result: QueryResult, _ display: ViewDisplay, isReduced: Bool) {
        self.call = call
        self.display = display
        self.result = result
        self.isReduced = isReduced
    }

    mutating func next() throws -> Production {
        guard !isDone else { return .end }
        var text = JSONText()
        if !hasBegun { try begin(&text) }
        // A piece is never empty, even if the user may read no row of a step.
        repeat {
            // One snapshot for the documents of a step.
            try call.database.read { _ in try step(&text) }
        } while text.bytes.isEmpty && nextRow < result.count && left > 0
        if nextRow == result.count || left == 0 {
            isDone = true
            text.raw("\n]}\n")
        }
        return .bytes(text.bytes)
    }

    private mutating func begin(_ text: inout JSONText) throws {
        hasBegun = true
        text.raw("{")
        if !isReduced, display.showsTotals {
            text.raw("\"total_rows\":")
            // Both count what is hidden.
            if call.hidesDocuments {
                text.raw("null,\"offset\":null,")
            } else {
                text.number(UInt64(clamping: result.totalRows))
                text.raw(",\"offset\":")
                text.number(UInt64(clamping: result.offset ?? 0))
                text.raw(",")
            }
        }
        if display.showsSequence {
            text.raw("\"update_seq\":")
            try call.sequences.append(result.sequence, to: &text)
            text.raw(",")
        }
        text.raw("\"rows\":[\n")
    }

    private mutating func step(_ text: inout JSONText) throws {
        let end = min(result.count, nextRow + Self.mostRows)
        while nextRow < end, left > 0, text.bytes.count < Self.mostBytes {
            let row = result[nextRow]
            nextRow += 1
            let geometry = display.box == nil ? nil : BoundingBox.Geometry(row.key)
            if let box = display.box {
                guard let geometry, geometry.box.meets(box) else { continue }
            }
            guard try isVisible(row) else { continue }
            guard toSkip == 0 else {
                toSkip -= 1
                continue
            }
            left -= 1
            if hasRows { text.raw(",\n") }
            hasRows = true
            try append(row, geometry, &text)
        }
    }

    /// Whether the user may read the document that has emitted a row. One that is gone since then cannot be asked about.
    private func isVisible(_ row: QueryRow) throws -> Bool {
        guard call.hidesDocuments else { return true }
        return try row.sourceDocumentID.flatMap { try call.readableDocument($0) } != nil
    }

    /// The document of a row, in the revision that its value names, if it names one.
    private func document(of row: QueryRow) throws -> Document? {
        guard let id = row.documentID, let named = row.value?["_rev"]?.string else {
            return try row.document()
        }
        let revision = RevisionID(named)
        guard revision.isValid else { return nil }
        return try call.database.read { try $0.document(withID: id, revision: revision) }
    }

    private func append(
        _ row: QueryRow, _ geometry: BoundingBox.Geometry?, _ text: inout JSONText
    ) throws {
        text.raw("{")
        if !isReduced {
            text.raw("\"id\":")
            text.string(row.sourceDocumentID?.text ?? "")
            text.raw(",")
        }
        if let geometry {
            geometry.append(to: &text)
        } else {
            text.raw("\"key\":")
            text.value(row.key)
        }
        if isReduced, let reason = row.value?["reduce_overflow_error"],
            row.value?.object?.count == 1
        {
            text.raw(",\"error\":\"reduce_overflow_error\",\"reason\":")
            text.value(reason)
        } else {
            text.raw(",\"value\":")
            text.value(row.value ?? .null)
        }
        if let format = display.format {
            text.raw(",\"doc\":")
            // The value of a row may name another document than its own.
            if let document = try document(of: row), call.mayRead(document) {
                let tree =
                    format.needsTree ? try call.database.revisionTree(of: document.id) : nil
                try format.append(document, tree, to: &text)
            } else {
                text.raw("null")
            }
        }
        text.bytes.append(JSONByte.closeBrace)
    }
}
