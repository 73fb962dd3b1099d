// SPDX-License-Identifier: Apache-2.0

extension QueryResult {
    /// About how many bytes the rows take in memory, without the documents that came with them.
    package var heldBytes: Int {
        reduce(0) { total, row in
            switch row.content {
            case .index(let row): total + MemoryLayout<QueryRow>.stride + row.byteCount
            case .made: total + QueryRow.madeBytes
            }
        }
    }
}

extension QueryRow {
    /// What a row takes that is made of a key or a group of a few values.
    static let madeBytes = MemoryLayout<QueryRow>.stride + 256
}
