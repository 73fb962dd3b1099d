// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanStorage

extension Database {
    /// Replaces the record of a document by bytes that break its format.
    func spoilRecord(of id: String) throws {
        try core.write { context in
            let (writer, snapshot) = try context.transaction()
            let row: [UInt8] = [0xFF, 0xFF]
            try writer.set(
                row.span, forKey: Array(id.utf8).span, in: snapshot.core.stores.documents)
        }
    }
}
