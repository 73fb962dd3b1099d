// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanPlatform
import DivanSystem
import DivanTestSupport
import FoundationEssentials
import Testing

/// The format as docs/encryption.md has it, read without the code that writes it.
@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct EncryptionFormatTests {
    private let sandbox = Sandbox()

    private func hex(_ secret: SecretBytes) -> String {
        secret.withBytes { bytes in
            var text = ""
            for index in bytes.indices {
                text += String(bytes[index] >> 4, radix: 16) + String(bytes[index] & 15, radix: 16)
            }
            return text
        }
    }

    private func secret(_ bytes: some Sequence<UInt8>) -> SecretBytes {
        SecretBytes(copying: Array(bytes).span)
    }

    /// The key of pages, by the recipe.
    private func pageKey(
        _ data: SecretBytes, identity: [UInt8], role: UInt8, epoch: [UInt8]
    ) -> SecretBytes {
        let extracted = KeyDerivation.subkey(
            of: secret(identity), for: data.withBytes { Array(copying: $0) })
        return KeyDerivation.subkey(
            of: extracted, for: Array("divan-page-1".utf8) + [role] + epoch + [1])
    }

    @Test func `keys are derived as the test vectors say`() throws {
        let data = secret(0..<32)
        let (identity, epoch) = (Array<UInt8>(0x10..<0x20), Array<UInt8>(0x20..<0x30))
        let pages = [
            1: "7f31fceb6e7732ca2f628a7c0b640317efa52edda2c0203a0837aa67bc48c8b3",
            2: "7d1d74fd961e369958e16aef8bd2968dd50913eb4d1e1a5423451f47d28a91e0",
            3: "3ce34b7ec425eb203c36bb310370fcb67dd22aff4e720f2bc0278f7dca94ac96",
        ]
        for (role, key) in pages {
            #expect(
                hex(pageKey(data, identity: identity, role: UInt8(role), epoch: epoch)) == key)
        }
        let keys = DataKey(data)
        #expect(
            hex(keys.names) == "b5f6aec7f742a8a948bd6f8170b1647ba7ba6f833ab7afcf05a5fb4272e5564e")
        #expect(
            hex(KeyDerivation.subkey(of: keys.contents, for: Array(0x40..<0x60)))
                == "5d20ef14b26a82e1a73d28ac4c32e4eab8726ada5e6ccb169b53eaaa5e3108e0")
        #expect(
            hex(KeyDerivation.subkey(of: data, for: Array("divan-wrapping-1".utf8)))
                == "645e745bdd9a9de28f812522bd3facdf5a1c7d614472c1e92dae46556b3e6073")
        let (password, salt) = (secret("password".utf8), [UInt8](repeating: 0, count: 16))
        #expect(
            KeyDerivation.pbkdf2(password, salt: salt, rounds: 600_000).map(hex)
                == "b7512a8a51d930ef39e84215000314df3c1b8d716610d5a0fb657d40e73173df")
        let cost = KeyDerivation.ScryptCost(cost: 65_536, blockSize: 8, parallelism: 2)
        #expect(
            KeyDerivation.scrypt(password, salt: salt, cost).map(hex)
                == "f0cd589cd658dfbb6039b06cd7747ed2740ec1dd3966606bdc22c6002aefc8a5")
        let impossible = KeyDerivation.ScryptCost(cost: 3, blockSize: 8, parallelism: 1)
        #expect(KeyDerivation.scrypt(password, salt: salt, impossible) == nil)
    }

    @Test func `every page and frame opens by the recipe, with the key that the manifest wraps`()
        throws
    {
        let user = [UInt8](repeating: 1, count: 32)
        let database = try sandbox.encrypted()
        for number in 0..<50 { try database.save(EncryptionSamples.document(number)) }
        try database.compact()
        for number in 50..<80 { try database.save(EncryptionSamples.document(number)) }
        let folder = sandbox.url().appending(path: "data-1")
        let main = Array(try Data(contentsOf: folder.appending(path: "main.sqlite3")))
        let log = Array(try Data(contentsOf: folder.appending(path: "main.sqlite3-wal")))
        let manifest = try Data(contentsOf: sandbox.url().appending(path: "manifest"))
        database.close()

        let data = try dataKey(manifest, user)
        let identity = Array(main[..<16])
        var plain: [UInt8] = []
        for page in 0..<main.count / 4_096 {
            let bytes = main[page * 4_096..<page * 4_096 + 4_096]
            let skipped = page == 0 ? 16 : 0
            plain += try open(
                Array(bytes.dropFirst(skipped).prefix(4_056 - skipped)), Array(bytes.suffix(40)),
                data, identity, role: 1, unit: page + 1)
        }
        #expect(Data(plain).firstRange(of: Data("CREATE TABLE \"revisions\"".utf8)) != nil)
        // The size of a page, as SQLite has it at offset 16 of the file.
        #expect(plain[0] == 0x10 && plain[1] == 0)
        let header = try open(
            Array(log[..<32]), Array(log[32..<72]), data, identity, role: 2, unit: 0)
        #expect(header[..<3] == [0x37, 0x7F, 0x06])
        for frame in 0..<(log.count - 72) / 4_120 {
            let bytes = Array(log[(72 + frame * 4_120)...].prefix(4_120))
            let opened = try open(
                Array(bytes[24..<4_080] + bytes[..<24]), Array(bytes.suffix(40)), data, identity,
                role: 2, unit: frame + 1)
            // The page's number, below 16 million.
            #expect(opened[4_056] == 0 && opened[4_059] > 0)
        }
    }

    @Test func `the manifest's proof is made by the recipe`() throws {
        try sandbox.encrypted().close()
        let manifest = try Data(contentsOf: sandbox.url().appending(path: "manifest"))
        let data = try dataKey(manifest, [UInt8](repeating: 1, count: 32))
        let value = try JSONParser.parse(
            Array(manifest.split(separator: UInt8(ascii: "\n"))[0]))
        func bytes(_ key: String) throws -> [UInt8] {
            try #require(value["encryption"]?[key]?.string.flatMap { Base64.decode($0) })
        }
        let names = ["engine", "publicUUID", "privateUUID", "incarnation", "place"]
        var parts = [Array("4".utf8), Array("1".utf8)]
        parts += try names.map { Array(try #require(value[$0]?.string).utf8) }
        parts += [Array("divan-data-key-2/raw".utf8), try bytes("nonce"), try bytes("wrappedKey")]
        var message: [UInt8] = []
        for part in parts {
            message.append(bigEndian64: UInt64(part.count))
            message += part
        }
        let key = KeyDerivation.subkey(of: data, for: Array("divan-manifest-1".utf8))
        let proof = KeyDerivation.subkey(of: key, for: message).withBytes { Array(copying: $0) }
        #expect(value["proof"]?.string == Base64.encode(proof))
        #expect(value["format"] == 4)
    }

    private func dataKey(_ manifest: Data, _ user: [UInt8]) throws -> SecretBytes {
        let line = manifest.split(separator: UInt8(ascii: "\n"))[0]
        let value = try #require(try JSONParser.parse(Array(line))["encryption"])
        func bytes(_ key: String) throws -> [UInt8] {
            try #require(value[key]?.string.flatMap { Base64.decode($0) })
        }
        #expect(value["derivation"]?.string == "raw")
        let wrapping = KeyDerivation.subkey(
            of: secret(user), for: Array("divan-wrapping-1".utf8))
        let wrapped = try bytes("wrappedKey")
        let opened = SealingCipher(key: wrapping).openSecret(
            wrapped.span, nonce: try bytes("nonce"),
            associated: Array("divan-data-key-2/raw".utf8))
        return try #require(opened)
    }

    private func open(
        _ sealed: [UInt8], _ trailer: [UInt8], _ data: SecretBytes, _ identity: [UInt8],
        role: UInt8, unit: Int
    ) throws -> [UInt8] {
        let key = pageKey(data, identity: identity, role: role, epoch: Array(trailer[..<16]))
        var associated = identity
        associated.append(bigEndian64: UInt64(unit))
        let tagged = sealed + trailer[24...]
        let opened = SealingCipher(key: key).open(
            tagged.span, nonce: [0, 0, 0, 0] + trailer[16..<24],
            associated: associated)
        return try #require(opened, "role \(role), unit \(unit)")
    }
}
