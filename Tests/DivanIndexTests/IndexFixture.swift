// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanPlatform
import DivanSQLite
import DivanStorage
import DivanTestSupport
import Synchronization

@testable import DivanIndex

/// Sums numbers, counts how it is called, and refuses anything else.
final class CountingSum: RowReducer, Sendable {
    struct NotANumber: Error, CustomStringConvertible { let description = "only numbers" }

    private let seen = Atomic<Int>(0)
    private let largest = Atomic<Int>(0)

    /// The values handed over since the last call.
    func takeCount() -> Int { seen.exchange(0, ordering: .relaxed) }
    var largestStep: Int { largest.load(ordering: .relaxed) }

    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        try sum(values)
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue { try sum(values) }

    private func sum(_ values: [PackedValue]) throws -> PackedValue {
        seen.add(values.count, ordering: .relaxed)
        largest.max(values.count, ordering: .relaxed)
        var sum: Int64 = 0
        for value in values {
            guard let number = value.int64 else { throw NotANumber() }
            sum += number
        }
        return PackedValue(.integer(sum))
    }
}

/// The same sum, which is brought up to date by differences.
final class AddingSum: AddingReducer, Sendable {
    let sum = CountingSum()

    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        try sum.reduce(keys: keys, values: values)
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue { try sum.rereduce(values) }

    var readsKeys: Bool { false }

    func addend(of value: PackedValue, isReduced: Bool) -> Int128? {
        value.int64.map { Int128($0) }
    }

    func reduced(total: Int128) -> PackedValue { PackedValue(.integer(Int64(total))) }
}

/// An index beside a naive model of it: a dictionary that is sorted whenever it is asked.
final class IndexFixture {
    let engine: SQLiteEngine
    let stores: IndexStores
    let seed: UInt64
    /// What the index is reduced by.
    let stored: (any RowReducer)?
    /// What counts the values that it is given.
    let reducer: CountingSum?
    let coder = RowKeyCoder(.unicode, strings: ICUCollator.root)
    private(set) var model: [String: [(key: JSONValue, value: Int64)]] = [:]

    init(seed: UInt64 = 7, reduces: Bool = true, adds: Bool = false) throws {
        engine = try SQLiteEngine.inMemory()
        stores = IndexStores(number: 1, engine: engine)
        self.seed = seed
        let adding = adds ? AddingSum() : nil
        reducer = adding?.sum ?? (reduces ? CountingSum() : nil)
        stored = adding ?? reducer
    }

    /// What documents emit.
    func emissions(_ documents: [(id: String, rows: [(key: JSONValue, value: Int64)])])
        -> EmissionBatch
    {
        var batch = EmissionBatch()
        for (id, rows) in documents {
            batch.begin(DocumentID(id))
            for row in rows {
                batch.append(PackedValue(.integer(row.value))) {
                    coder.append(row.key, to: &$0, &$1)
                }
            }
            batch.end()
        }
        return batch
    }

    /// Replaces the rows of some documents in one transaction.
    @discardableResult
    func replace(
        _ documents: [(id: String, rows: [(key: JSONValue, value: Int64)])],
        keepsPartials: Bool = true, leavesKeptRows: Bool = false
    ) throws -> [(key: [UInt8], edit: IndexWriter.Edit)] {
        for (id, rows) in documents { model[id] = rows.isEmpty ? nil : rows }
        var batch = emissions(documents)
        return try engine.write { writer in
            var index = IndexWriter(stores, seed: seed, reducer: stored, writer)
            index.keepsPartials = keepsPartials
            index.leavesKeptRows = leavesKeptRows
            return try index.replace(with: &batch, .unknown).rows
        }
    }

    /// Makes the index, which has no rows, of some documents.
    @discardableResult
    func build(
        _ documents: [(id: String, rows: [(key: JSONValue, value: Int64)])], reducing: Bool = true
    ) throws -> [(key: [UInt8], edit: IndexWriter.Edit)] {
        for (id, rows) in documents { model[id] = rows.isEmpty ? nil : rows }
        let batch = emissions(documents)
        return try engine.write { writer in
            try IndexWriter(stores, seed: seed, reducer: stored, writer)
                .build(from: batch, reducing: reducing, .unknown).rows
        }
    }

    /// Changes a row of a store behind the index's back.
    func edit(
        _ kind: BlockEdits.Kind, _ key: [UInt8], _ value: [UInt8], in store: Store,
        _ writer: any StorageWriter
    ) throws {
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        edits.append(kind, key: key, value: value, to: &bytes)
        _ = try store.edit(edits, of: bytes, writer)
    }

    func rebuildPartials() throws {
        let computed = try read { try $0.computePartials(reducer: stored) { _ in } }
        try engine.write { try computed.write(to: stores, $0) }
    }

    func read<T>(_ body: (IndexReader) throws -> T) throws -> T {
        try engine.read { try body(IndexReader(stores, seed: seed, $0)) }
    }

    func problems() throws -> [String] {
        try read { try $0.verify(reducer: stored, hasPartials: true, owner: { _ in nil }) { _ in } }
    }

    /// What the index should hold, in order.
    func expectedRows() -> [(key: [UInt8], value: Int64)] {
        var rows: [(key: [UInt8], value: Int64)] = []
        for (id, emitted) in model {
            let batch = emissions([(id, emitted)])
            for (row, emission) in zip(batch.rows, emitted) {
                rows.append((Array(batch.bytes[row.key]), emission.value))
            }
        }
        return rows.sorted { $0.key.precedes($1.key) }
    }

    func allRows(
        in range: RowRange = .all, descending: Bool = false, skip: Int = 0, limit: Int = .max
    ) throws -> [(key: [UInt8], value: Int64)] {
        var rows: [(key: [UInt8], value: Int64)] = []
        guard limit > 0 else { return [] }
        try read { index in
            try index.forEachRow(in: range, descending: descending, skip: skip) { key, value in
                rows.append(([UInt8](copying: key), RowValue.decode(value).int64 ?? -1))
                return rows.count < limit
            }
        }
        return rows
    }
}
