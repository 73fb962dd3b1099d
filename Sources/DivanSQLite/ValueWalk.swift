// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// A walk over a store's values that goes on in another snapshot where it stopped in the last one.
struct ValueWalk {
    let store: Store
    let kind: StoreName.KeyKind
    private(set) var isOver = false
    /// The key of the last row, in the form that its kind of store has; nil before the first.
    private var last: [UInt8]?
    private var lastInteger: Int64 = 0

    init(store: Store, kind: StoreName.KeyKind) {
        self.store = store
        self.kind = kind
    }

    /// Checks up to `count` rows and adds a sentence for each whose value is damaged.
    mutating func check(
        _ count: Int, with reader: any StorageReader, _ problems: inout [String]
    ) throws {
        let cursor = try reader.cursor(in: store)
        defer { cursor.close() }
        var hasRow = try resume(cursor)
        var left = count
        while hasRow, left > 0 {
            do {
                try cursor.withValue { _ in }
            } catch let error as StorageError where error.code == .corrupted {
                problems.append(String(describing: error))
            }
            left -= 1
            if left == 0 { try mark(cursor) }
            hasRow = try cursor.next()
        }
        isOver = !hasRow
    }

    /// Goes to the row after the last one, which may have been removed.
    private func resume(_ cursor: any StorageCursor) throws -> Bool {
        guard let last else { return try cursor.seekToFirst() }
        if kind == .integer {
            guard lastInteger < .max else { return false }
            return try cursor.seek(toAtLeast: lastInteger + 1)
        }
        // The least key above another one is that key and a zero byte.
        return try cursor.seek(toAtLeast: (last + [0]).span)
    }

    private mutating func mark(_ cursor: any StorageCursor) throws {
        guard kind == .bytes else {
            lastInteger = cursor.integerKey
            last = []
            return
        }
        var key: [UInt8] = []
        try cursor.withKey { bytes in
            for index in bytes.indices { key.append(bytes[index]) }
        }
        last = key
    }
}
