// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// What the tests of encryption keep, and look for on disk.
enum EncryptionSamples {
    /// Words that a plaintext would have: of documents, of IDs, of names of stores and properties.
    static let words = [
        "xylophone", "quizzical", "secret-id", "zephyrs", "wombatness", "revisions",
    ]

    static func key(_ number: UInt8 = 1) throws -> EncryptionKey {
        try EncryptionKey(rawBytes: [UInt8](repeating: number, count: 32))
    }

    /// A document whose ID, key and value are words that are looked for.
    static func document(_ number: Int) -> MutableDocument {
        MutableDocument(
            ["wombatness": .integer(Int64(number)), "text": "the quizzical xylophone \(number)"]
                as JSONObject,
            id: "secret-id-\(number)")
    }
}

extension Sandbox {
    /// Opens a database that is encrypted with a key.
    func encrypted(_ name: String = "db", key: EncryptionKey? = nil) throws -> Database {
        let key = try key ?? EncryptionSamples.key()
        return try database(name) { $0.encryptionKey = key }
    }

    /// Looks for words in every file of the folder, and in their names.
    func expectNoPlaintext(
        _ words: [String] = EncryptionSamples.words,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let contents = try contents()
        #expect(!contents.isEmpty, sourceLocation: sourceLocation)
        for (path, data) in contents {
            for word in words + ["SQLite format"] {
                let isThere = data.firstRange(of: Data(word.utf8)) != nil || path.contains(word)
                #expect(!isThere, "\(word) in \(path)", sourceLocation: sourceLocation)
            }
        }
    }
}
