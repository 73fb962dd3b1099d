// SPDX-License-Identifier: Apache-2.0

import Divan
import enum DivanTestSupport.TestFolder
import Foundation
import Testing

@testable import DivanCommand
@testable import DivanListener

/// The tables of docs/errors.md, against the code.
@Suite struct ErrorTableTests {
    /// The cells of the rows below a heading, whose first cell is a code.
    private func rows(below heading: String) throws -> [String: [String]] {
        let page = TestFolder.repository.appending(path: "docs/errors.md")
        let sections = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "## ")
        let section = try #require(sections.first { $0.hasPrefix(heading) })
        var rows: [String: [String]] = [:]
        for line in section.components(separatedBy: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            rows[cells[0].trimmingCharacters(in: ["`"])] = Array(cells.dropFirst())
        }
        return rows
    }

    @Test func `every code of a database's errors has its row, its status and its exit code`()
        throws
    {
        let rows = try rows(below: "Of a database")
        #expect(Set(rows.keys) == Set(DatabaseError.Code.allCases.map(\.rawValue)))
        for code in DatabaseError.Code.allCases {
            let row = try #require(rows[code.rawValue])
            let failure = ErrorResponse.failure(for: DatabaseError(code, "A sentence."))
            #expect(row.dropFirst() == ["\(failure.status)", "\(ExitCode(code).rawValue)"])
        }
    }

    @Test func `every code of a replication's errors has its row`() throws {
        let rows = try rows(below: "Of a replication")
        #expect(Set(rows.keys) == Set(ReplicationError.Code.allCases.map(\.rawValue)))
    }

    @Test func `codes keep their names`() {
        // What apps may have stored; a case that is renamed keeps its raw value.
        let names = [
            "conflict", "documentNotFound", "revisionNotFound", "attachmentNotFound",
            "invalidDocument", "invalidID", "invalidName", "invalidQuery", "forbidden",
            "unauthorized", "databaseNotFound", "databaseExists", "databaseClosed",
            "databaseSuspended", "databaseBusy", "readOnly", "storageFull", "corrupted",
            "unsupportedVersion", "unsupportedStorageEngine", "io", "cancelled",
        ]
        for name in names { #expect(DatabaseError.Code(rawValue: name) != nil, "\(name)") }
    }
}
