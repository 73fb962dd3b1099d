// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

/// Enumerates documents in pages.
///
/// A reader on the other end of a pipe may be slow, or a person: no snapshot is held while output
/// is written, so the database can go on reclaiming space. A document that changes meanwhile is
/// shown as it is when its page is read.
enum DocumentPages {
    /// 1,000 documents or 8 MB of bodies a page: far more than the cost of beginning one.
    private static let pageLimit = 1_000
    private static let pageSize = 8 << 20

    private struct PageIsFull: Error {}

    static func forEach(
        in database: Database, _ options: AllDocumentsOptions, interruption: Interruption,
        _ body: (DocumentRow) throws -> Void
    ) throws {
        var options = options
        var left = options.limit ?? .max
        var last: DocumentID?
        while left > 0 {
            try interruption.check()
            // One more than wanted: the page begins with the last row of the page before.
            options.limit = min(left, pageLimit) + 1
            let page = try readPage(in: database, options)
            for row in page where row.id != last && left > 0 {
                left -= 1
                try body(row)
            }
            guard let end = page.last?.id, end != last else { return }
            last = end
            options.startID = end
            options.skip = 0
        }
    }

    private static func readPage(
        in database: Database, _ options: AllDocumentsOptions
    ) throws -> [DocumentRow] {
        var page: [DocumentRow] = []
        var size = 0
        do {
            try database.forEachDocument(options) { row in
                page.append(row)
                size += row.document?.body.withBytes { $0.count } ?? 0
                // Two at least, or a page of one large document would never get past it.
                if size > pageSize, page.count > 1 { throw PageIsFull() }
            }
        } catch is PageIsFull {}
        return page
    }
}
