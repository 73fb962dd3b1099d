// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Copies every row of every store of one engine into another one, through the seam.
///
/// The source is read in one snapshot, in the order of the keys, so that the target is filled by
/// appending. Each value's checksum is verified by the engine that lends it and made anew by the one
/// that keeps it, so damage is not carried over: it stops the copy.
struct StoreCopying {
    /// The bytes of one transaction of the target: enough to make its commit cheap, and few enough to
    /// bound its dirty pages.
    private static let batchBytes = 16 << 20
    /// The rows between two reports.
    private static let reportStep = 10_000

    let source: any StorageEngine
    let target: any StorageEngine
    let report: (_ rows: Int, _ total: Int) throws -> Void

    /// Copies, and compares the numbers of rows.
    ///
    /// - Throws: `StorageError`, `DatabaseError` with code `.corrupted` when a store came out with
    ///   another number of rows, and what `report` throws.
    func run() throws {
        try source.read { (reader: any StorageReader) throws -> Void in
            let names = try reader.storeNames()
            try check(names)
            let counts = try names.map { try reader.count(of: source.store($0)) }
            let total = counts.reduce(0, +)
            var done = 0
            for (name, count) in zip(names, counts) {
                try copy(name, reader, &done, total)
                try compare(name, count)
            }
            try report(total, total)
        }
    }

    /// Refuses names that a damaged file has in another case or with another kind of key than Divan gives them.
    private func check(_ names: [StoreName]) throws {
        let registry = StoreRegistry()
        for name in Stores.names { _ = registry.store(name) }
        for name in names where registry.storeUnlessTaken(name) == nil {
            throw StorageError(
                .corrupted, "The file has a store \(name), which is the name of another one.")
        }
    }

    private func copy(
        _ name: StoreName, _ reader: any StorageReader, _ done: inout Int, _ total: Int
    ) throws {
        let cursor = try reader.cursor(in: source.store(name))
        defer { cursor.close() }
        let store = target.store(name)
        var found = try cursor.seekToFirst()
        while found {
            var bytes = 0
            var rows = 0
            try target.write { (writer: any StorageWriter) throws -> Void in
                while found, bytes < Self.batchBytes, rows < Self.reportStep {
                    try cursor.withRow { key, value in
                        bytes += key.count + value.count
                        if name.kind == .integer {
                            try writer.set(value, forKey: cursor.integerKey, in: store)
                        } else {
                            try writer.set(value, forKey: key, in: store)
                        }
                    }
                    rows += 1
                    found = try cursor.next()
                }
            }
            done += rows
            try report(done, total)
        }
    }

    private func compare(_ name: StoreName, _ count: Int) throws {
        let copied = try target.read { try $0.count(of: target.store(name)) }
        guard copied == count else {
            throw DatabaseError.lossyConversion(name.name, count, copied)
        }
    }
}
