// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Manifests of encrypted databases that another program has changed, with a checksum that fits.
@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct ManifestProofTests {
    private let sandbox = Sandbox()

    private func line(_ url: URL) throws -> String {
        let text = try String(
            decoding: Data(contentsOf: url.appending(path: "manifest")), as: UTF8.self)
        return String(try #require(text.split(separator: "\n").first))
    }

    private func write(_ line: String, _ url: URL) throws {
        try Data("\(line)\n\(ManifestChecksum.text(of: line))\n".utf8)
            .write(to: url.appending(path: "manifest"))
    }

    @Test(arguments: ["publicUUID", "privateUUID", "incarnation", "place", "engine"])
    func `a text that another program has put into the manifest is noticed`(_ key: String) throws {
        try sandbox.encrypted().close()
        let genuine = try line(sandbox.url())
        let value = try #require(
            try Regex("\"\(key)\":\"([^\"]*)\"", as: (Substring, Substring).self)
                .firstMatch(in: genuine)?.output.1)
        let other = key == "engine" ? "lmdb" : value + "0"
        let edited = genuine.replacing(
            "\"\(key)\":\"\(value)\"", with: "\"\(key)\":\"\(other)\"")
        #expect(edited != genuine)
        try write(edited, sandbox.url())
        #expect(code { try sandbox.encrypted() } == .corrupted)
        let right = try EncryptionSamples.key()
        #expect(
            code {
                try sandbox.database {
                    $0.encryptionKey = right
                    $0.readOnly = true
                }
            } == .corrupted)
        try write(genuine, sandbox.url())
        try sandbox.encrypted().close()
    }

    @Test func `no generation is removed by a manifest that names another one`() throws {
        let database = try sandbox.encrypted()
        try database.save(EncryptionSamples.document(1))
        database.close()
        let genuine = try line(sandbox.url())
        try write(
            genuine.replacing("\"generation\":1", with: "\"generation\":2"), sandbox.url())
        #expect(code { try sandbox.encrypted() } == .corrupted)
        try write(genuine, sandbox.url())
        let again = try sandbox.encrypted()
        #expect(try again.documentCount == 1)
        again.close()
    }

    @Test func `the proof cannot be taken away, nor the format be put back`() throws {
        try sandbox.encrypted().close()
        let genuine = try line(sandbox.url())
        let bare = genuine.replacing(/,"proof":"[^"]*"/, with: "")
        #expect(bare != genuine)
        for edited in [
            bare, genuine.replacing("\"format\":4", with: "\"format\":3"),
            bare.replacing("\"format\":4", with: "\"format\":3"),
            bare.replacing("\"format\":4", with: "\"format\":2"),
            genuine.replacing(/"proof":"[^"]*"/, with: "\"proof\":\"\""),
            genuine.replacing(/"proof":"[^"]*"/, with: "\"proof\":7"),
        ] {
            #expect(edited != genuine)
            try write(edited, sandbox.url())
            let refusal = code { try sandbox.encrypted() }
            #expect(refusal == .corrupted || refusal == .unauthorized)
        }
        try write(genuine, sandbox.url())
        try sandbox.encrypted().close()
    }

    @Test func `a change of the manifest while the database is open is not taken over`() throws {
        let database = try sandbox.encrypted()
        defer { database.close() }
        let before = database.publicUUID
        let genuine = try line(sandbox.url())
        try write(genuine.replacing(before, with: String(before.reversed())), sandbox.url())
        #expect(database.publicUUID == before)
        #expect(code { try database.replaceUUIDs() } == .corrupted)
        try write(genuine, sandbox.url())
        try database.replaceUUIDs()
        #expect(database.publicUUID != before)
    }

    @Test func `a database of an earlier format is proven once it is opened for writing`() throws {
        let source = TestFolder.tests.appending(path: "Compatibility/format-2/app.divan")
        let directory = try TestDirectory("proof")
        let path = directory.path("app.divan")
        try FileManager.default.copyItem(
            atPath: source.path(percentEncoded: false), toPath: path)
        let url = URL(filePath: path)
        var options = DatabaseOptions()
        options.encryptionKey = try EncryptionKey(rawBytes: (0..<32).map { $0 })
        options.storageEngine = .sqlite
        options.readOnly = true
        try Database.open(at: url, options: options).close()
        #expect(!(try line(url)).contains("proof"))
        options.readOnly = false
        let database = try Database.open(at: url, options: options)
        let count = try database.documentCount
        // Another handle on it, and another key for it.
        try Database.open(at: url, options: options).close()
        try database.changeEncryptionKey(to: .password("p"))
        database.close()
        let proven = try line(url)
        #expect(proven.contains("\"format\":4") && proven.contains("\"proof\":"))
        options.encryptionKey = .password("p")
        let again = try Database.open(at: url, options: options)
        #expect(try again.documentCount == count)
        #expect(try again.verify().isEmpty)
        again.close()
        try write(proven.replacing(/,"proof":"[^"]*"/, with: ""), url)
        #expect(code { try Database.open(at: url, options: options) } == .corrupted)
    }

    @Test func `a database without a key has no proof and keeps its format`() throws {
        try sandbox.database { $0.encryptionKey = nil }.close()
        if TestEncryption.isOn { return }
        let line = try line(sandbox.url())
        #expect(line.contains("\"format\":3") && !line.contains("proof"))
    }
}
