// SPDX-License-Identifier: Apache-2.0

import DivanStorage

/// A writer that fails where a plan says.
final class FaultyWriter: StorageWriter {
    private let inside: any StorageWriter
    private let plan: FaultPlan

    init(_ inside: any StorageWriter, plan: FaultPlan) {
        self.inside = inside
        self.plan = plan
    }

    // MARK: - Reading

    func withValue(
        forKey key: Span<UInt8>, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        try inside.withValue(forKey: key, in: store, body)
    }

    func withValue(
        forKey key: Int64, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        try inside.withValue(forKey: key, in: store, body)
    }

    func cursor(in store: Store) throws -> any StorageCursor {
        try inside.cursor(in: store)
    }

    func count(of store: Store) throws -> Int {
        try inside.count(of: store)
    }

    func storeNames() throws -> [StoreName] {
        try inside.storeNames()
    }

    var notes: AnyObject? {
        get { inside.notes }
        set { inside.notes = newValue }
    }

    // MARK: - Writing

    func set(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws {
        try plan.reach("set")
        try inside.set(value, forKey: key, in: store)
    }

    func set(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws {
        try plan.reach("set")
        try inside.set(value, forKey: key, in: store)
    }

    func insert(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws -> Bool {
        try plan.reach("insert")
        return try inside.insert(value, forKey: key, in: store)
    }

    func insert(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws -> Bool {
        try plan.reach("insert")
        return try inside.insert(value, forKey: key, in: store)
    }

    func remove(key: Span<UInt8>, in store: Store) throws -> Bool {
        try plan.reach("remove")
        return try inside.remove(key: key, in: store)
    }

    func remove(key: Int64, in store: Store) throws -> Bool {
        try plan.reach("remove")
        return try inside.remove(key: key, in: store)
    }

    func removeAll(in store: Store) throws {
        try plan.reach("removeAll")
        try inside.removeAll(in: store)
    }

    func drop(_ store: Store) throws {
        try plan.reach("drop")
        try inside.drop(store)
    }

    func syncEarlierCommits() throws {
        try plan.reach("syncEarlierCommits")
        try inside.syncEarlierCommits()
    }

    func savepoint(_ body: () throws -> Void) throws {
        try inside.savepoint { () throws -> Void in try body() }
    }
}
