// SPDX-License-Identifier: Apache-2.0

import DivanStorage

// The seam in the words of the suite: keys and values as texts and numbers.

extension StoreName {
    static let numbers = StoreName("numbers", .integer)
    static let texts = StoreName("texts", .bytes)
}

/// What a reader keeps in these tests.
final class Note {
    let text: String?

    init(_ text: String?) { self.text = text }
}

extension StorageReader {
    func text(_ key: String, in store: Store) throws -> String? {
        let key = Array(key.utf8)
        return try value(forKey: key.span, in: store).map { String(decoding: $0, as: UTF8.self) }
    }

    func text(_ key: Int64, in store: Store) throws -> String? {
        try value(forKey: key, in: store).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The keys of a byte-string store from first to last.
    func texts(in store: Store) throws -> [String] {
        try rows(in: store).map { String(decoding: $0.key, as: UTF8.self) }
    }

    /// The rows of a store from first to last.
    func rows(in store: Store) throws -> [(key: [UInt8], value: [UInt8])] {
        let cursor = try cursor(in: store)
        defer { cursor.close() }
        var rows: [(key: [UInt8], value: [UInt8])] = []
        var hasRow = try cursor.seekToFirst()
        while hasRow {
            try cursor.withRow { rows.append(([UInt8](copying: $0), [UInt8](copying: $1))) }
            hasRow = try cursor.next()
        }
        return rows
    }
}

extension StorageWriter {
    func set(_ value: String, _ key: String, in store: Store) throws {
        let (key, value) = (Array(key.utf8), Array(value.utf8))
        try set(value.span, forKey: key.span, in: store)
    }

    func set(_ value: String, _ key: Int64, in store: Store) throws {
        let value = Array(value.utf8)
        try set(value.span, forKey: key, in: store)
    }

    func insert(_ value: String, _ key: String, in store: Store) throws -> Bool {
        let (key, value) = (Array(key.utf8), Array(value.utf8))
        return try insert(value.span, forKey: key.span, in: store)
    }

    func remove(_ key: String, in store: Store) throws -> Bool {
        let key = Array(key.utf8)
        return try remove(key: key.span, in: store)
    }
}

extension StorageCursor {
    var text: String {
        get throws {
            var text = ""
            try withKey { text = String(decoding: [UInt8](copying: $0), as: UTF8.self) }
            return text
        }
    }

    func seek(toAtLeast text: String) throws -> Bool {
        let key = Array(text.utf8)
        return try seek(toAtLeast: key.span)
    }

    func seek(toAtMost text: String) throws -> Bool {
        let key = Array(text.utf8)
        return try seek(toAtMost: key.span)
    }

    func seekAscending(toAtMost text: String) throws -> Bool {
        let key = Array(text.utf8)
        return try seekAscending(toAtMost: key.span)
    }
}

/// An error of the suite's own, to see it come through.
struct Refusal: Error {}

/// Runs a write that is refused at its end, and so leaves no trace.
func refused(by engine: any StorageEngine, _ body: (any StorageWriter) throws -> Void) throws {
    do {
        try engine.write { (writer: any StorageWriter) throws -> Void in
            try body(writer)
            throw Refusal()
        }
    } catch is Refusal {}
}
