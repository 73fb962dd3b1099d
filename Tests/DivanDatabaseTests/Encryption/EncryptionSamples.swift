// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import FoundationEssentials
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What the tests of encryption keep, and look for on disk.
enum EncryptionSamples {
    /// Words that a plaintext would have: of documents, of IDs, of names of stores and properties.
    static let words = Secrets.words

    static func key(_ number: UInt8 = 1) throws -> EncryptionKey {
        try EncryptionKey(rawBytes: [UInt8](repeating: number, count: 32))
    }

    /// A document whose ID, key and value are words that are looked for.
    static func document(_ number: Int) -> MutableDocument {
        MutableDocument(Secrets.body(number), id: "secret-id-\(number)")
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
                let isThere = data.contains(text: word) || path.contains(word)
                #expect(!isThere, "\(word) in \(path)", sourceLocation: sourceLocation)
            }
        }
    }
}

extension Data {
    /// Whether the bytes of a text are in it.
    func contains(text: String) -> Bool {
        let word = Array(text.utf8)
        return withUnsafeBytes { bytes in
            guard var place = bytes.baseAddress else { return false }
            let end = place + bytes.count
            while end - place >= word.count,
                let found = memchr(place, Int32(word[0]), end - place - word.count + 1)
            {
                if memcmp(found, word, word.count) == 0 { return true }
                place = UnsafeRawPointer(found) + 1
            }
            return false
        }
    }
}
