// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
package import DivanStorage

extension AttachmentReference {
    /// A content that rows refer to, and whether it must be there.
    package struct Content {
        var key: AttachmentKey
        /// False when every revision that refers to it came without it.
        var isNeeded: Bool
    }

    /// The contents that the rows of a database refer to, in the order of their keys, each once.
    ///
    /// - Parameters:
    ///   - core: The database, which is named when its rows are damaged.
    ///   - engine: The engine to read, when it is not the database's own but that of a copy.
    /// - Returns: The contents.
    /// - Throws: `DatabaseError`.
    package static func contents(in core: DatabaseCore, of engine: (any StorageEngine)? = nil)
        throws
        -> [Content]
    {
        let engine = engine ?? core.engine
        let store = Stores(engine: engine).attachmentReferences
        var contents: [Content] = []
        try DatabaseCore.blaming(nil) {
            try engine.read { (reader: any StorageReader) throws -> Void in
                let cursor = try reader.cursor(in: store)
                defer { cursor.close() }
                var found = try cursor.seekToFirst()
                while found {
                    try cursor.withRow { row, value in
                        let key = try DatabaseCore.decoding(nil) { try decode(row).key }
                        // Some revisions came without their contents.
                        let isNeeded = !isAbsent(value)
                        if contents.last?.key == key {
                            contents[contents.count - 1].isNeeded =
                                contents[contents.count - 1].isNeeded || isNeeded
                        } else {
                            contents.append(Content(key: key, isNeeded: isNeeded))
                        }
                    }
                    found = try cursor.next()
                }
            }
        }
        return contents
    }
}
