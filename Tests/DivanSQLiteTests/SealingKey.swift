// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanTestSupport
import Foundation

/// A key that is known, which is all a test needs of one.
struct SealingKey: StorageKey {
    let bytes: [UInt8]

    init(_ bytes: [UInt8] = Array(0..<32)) { self.bytes = bytes }

    func lend(to body: (Span<UInt8>) -> Void) { body(bytes.span) }
}

extension StorageOptions {
    /// The defaults, with a key.
    static func sealed(_ key: SealingKey = SealingKey()) -> StorageOptions {
        var options = StorageOptions()
        options.encryptionKey = key
        return options
    }
}

extension ScratchDirectory {
    /// Opens an engine that seals what it keeps in the directory itself.
    func openSealed(_ change: (inout StorageOptions) -> Void = { _ in }) throws -> SQLiteEngine {
        try open { options in
            options.encryptionKey = SealingKey()
            change(&options)
        }
    }

    /// Each file in the directory, by its name.
    func files() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            if let data = FileManager.default.contents(atPath: path + "/" + name) {
                files[name] = Array(data)
            }
        }
        return files
    }
}

extension [UInt8] {
    /// Whether the bytes hold others anywhere.
    func contains(bytes other: [UInt8]) -> Bool { Data(self).range(of: Data(other)) != nil }
}
