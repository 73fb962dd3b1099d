// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

extension Command {
    /// `divan index`: what is stored of the indexes.
    static let index = Command(
        CommandSchema(
            name: "index",
            summary: "List the indexes of a database, or delete one.",
            discussion: """
                Views, indexes on properties and full-text indexes are stored as rows that can be made \
                again: deleting one costs time at its next use, and nothing else.
                """,
            arguments: [.database],
            options: [
                .value("delete", nil, "NAME", "Delete the indexes of this name.", repeats: true),
                .flag("json", nil, "Print one JSON object a line."),
            ],
            examples: ["divan index notes.divan", "divan index notes.divan --delete byDate"])
    ) { invocation in
        let names = invocation.arguments.strings("delete")
        let database = try invocation.openDatabase(forWriting: !names.isEmpty)
        defer { database.close() }
        let reports = try database.indexReports()
        guard names.isEmpty else {
            for name in names {
                let found = reports.filter { $0.name.hasSameBytes(as: name) }
                guard !found.isEmpty else {
                    throw CommandFailure(.notFound, "There is no index \"\(name)\".")
                }
                for report in found { try database.deleteIndex(report) }
                invocation.output.remark("Deleted the index \"\(name)\".")
            }
            return
        }
        if invocation.arguments.flag("json") {
            for report in reports { try invocation.output.json(report.json, pretty: false) }
            return
        }
        var table = TextTable([.left, .left, .right, .left])
        for report in reports {
            let rows = report.rows == 1 ? "1 row" : "\(report.rows) rows"
            table.add(
                report.kind.rawValue, PrintableText.escaping(report.name), rows,
                report.isCurrent ? "up to date" : "up to change \(report.lastSequence)")
        }
        for line in table.lines { try invocation.output.line(line) }
    }
}

extension IndexReport {
    fileprivate var json: [UInt8] {
        var text = Array("{".utf8)
        DocumentText.append("kind", .string(kind.rawValue), to: &text)
        DocumentText.append("name", .string(name), to: &text)
        DocumentText.append("rows", JSONValue(rows), to: &text)
        DocumentText.append("last_seq", .integer(Int64(clamping: lastSequence)), to: &text)
        DocumentText.append("current", .bool(isCurrent), to: &text)
        DocumentText.append("failures", JSONValue(failures), to: &text)
        text.append(JSONByte.closeBrace)
        return text
    }
}
