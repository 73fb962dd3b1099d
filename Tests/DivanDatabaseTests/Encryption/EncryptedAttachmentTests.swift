// SPDX-License-Identifier: Apache-2.0

import Divan
@testable import DivanDatabase
import DivanPlatform
import DivanSystem
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct EncryptedAttachmentTests {
    private let sandbox = Sandbox()
    private static let chunk = SealedContent.chunkSize

    /// Content in which a word comes again and again.
    private static func wordy(_ count: Int) -> [UInt8] {
        Array(String(repeating: "quizzical xylophone ", count: count / 20 + 1).utf8.prefix(count))
    }

    private func attach(_ bytes: [UInt8], to id: DocumentID, in database: Database) throws {
        let document = MutableDocument(id: id)
        document.setAttachment(named: "a", contentType: "text/plain", .bytes(bytes))
        try database.save(document)
    }

    private func attachment(of id: DocumentID, in database: Database) throws -> DocumentAttachment {
        try #require(try database.existing(id).attachment(named: "a"))
    }

    /// The files with contents, by path.
    private func files() throws -> [URL] {
        let folder = sandbox.url().appending(path: "data-1/attachments")
        return try FileManager.default.contentsOfDirectory(
            atPath: folder.path(percentEncoded: false)
        ).filter { $0 != "tmp" }.sorted().map { folder.appending(path: $0) }
    }

    @Test(arguments: [
        0, 1, 15, 16, chunk - 1, chunk, chunk + 1, 2 * chunk, 5 * chunk + 4_321,
    ])
    func `content of any length reads back whole, in ranges and in pieces`(_ length: Int)
        async throws
    {
        let database = try sandbox.encrypted()
        let bytes = Sample.bytes(length)
        try attach(bytes, to: "d", in: database)
        let attachment = try attachment(of: "d", in: database)
        #expect(attachment.length == length)
        #expect(try attachment.content() == bytes)
        for start in [0, 1, Self.chunk - 3, Self.chunk, 2 * Self.chunk - 1, length] {
            for count in [0, 1, 7, Self.chunk, Self.chunk + 9] {
                let expected = Array(bytes.dropFirst(start).prefix(count))
                #expect(try attachment.content(in: start..<start + count) == expected)
            }
        }
        var pieces: [UInt8] = []
        for try await piece in attachment.chunks(ofSize: 10_000) { pieces += piece }
        #expect(pieces == bytes)
        try attachment.verify()
        #expect(try database.problems() == [])
        #expect(try files().count == 1)
    }

    @Test func `neither contents nor their digests are on disk, also while they come`() throws {
        let database = try sandbox.encrypted()
        let word = EncryptionSamples.words
        let stream = WatchedStream(Self.wordy(3_000_000)) { [sandbox] in
            try sandbox.expectNoPlaintext()
        }
        let document = MutableDocument(id: "secret-id-1")
        document.setAttachment(named: "film", contentType: "video/mp4", .stream(stream))
        document.setAttachment(named: "hello", contentType: "text/plain", .bytes(Sample.hello))
        try database.save(document)
        #expect(stream.looks > 5)
        try sandbox.expectNoPlaintext(word + [Sample.helloFile])
        for suffix in ["", "-wal"] {
            let url = sandbox.url().appending(path: "data-1/main.sqlite3\(suffix)")
            let data = try Data(contentsOf: url)
            #expect(data.firstRange(of: Data([0xAA, 0xF4, 0xC6, 0x1D, 0xDC, 0xC5])) == nil)
        }
        let saved = try #require(try database.existing("secret-id-1").attachment(named: "hello"))
        #expect(saved.fileURL == nil)
        #expect(saved.digest == Sample.helloDigest)
    }

    @Test func `the same content is kept once, and under another name in another database`() throws
    {
        let first = try sandbox.encrypted()
        for id: DocumentID in ["a", "b", "c"] { try attach(Sample.hello, to: id, in: first) }
        #expect(try files().count == 1)
        let second = try sandbox.encrypted("second")
        try attach(Sample.hello, to: "a", in: second)
        let names = try FileManager.default.contentsOfDirectory(
            atPath: sandbox.url("second").appending(path: "data-1/attachments")
                .path(percentEncoded: false))
        #expect(try !names.contains(#require(files().first).lastPathComponent))
        // The sweep knows the contents by the names.
        for id in ["a", "b", "c"] { try first.purge(DocumentID(id)) }
        #expect(try first.unusedAttachments().files == 1)
        try first.compact()
        #expect(try files().isEmpty)
    }

    @Test func `every byte of a file is proven`() throws {
        let database = try sandbox.encrypted()
        try attach(Sample.bytes(3 * Self.chunk), to: "d", in: database)
        let url = try #require(try files().first)
        let good = try Data(contentsOf: url)
        let sealed = SealedContent.form.sealedChunkSize
        let header = SealedContent.form.headerSize
        // The magic, the random bytes, the identity, its tag, its nonce; a chunk, its tag, its nonce; the last byte.
        let places = [
            0, 7, 8, 39, 40, 67, 68, 83, 84, 91, header, header + 70_000,
            header + Self.chunk, header + sealed - 9, header + sealed - 8, header + sealed - 1,
            good.count - 1,
        ]
        for place in places {
            var bad = good
            bad[place] ^= 1
            try bad.write(to: url)
            let attachment = try attachment(of: "d", in: database)
            #expect(code { try attachment.content() } == .corrupted, "byte \(place)")
            #expect(try !database.problems().isEmpty, "byte \(place)")
        }
        let first = header..<header + sealed
        let second = header + sealed..<header + 2 * sealed
        var swapped = good
        swapped.replaceSubrange(first, with: good[second])
        swapped.replaceSubrange(second, with: good[first])
        let others = [
            swapped, good.prefix(header + 2 * sealed), good.prefix(100), good.prefix(3),
            good + good[first],
        ]
        for (number, other) in others.enumerated() {
            try other.write(to: url)
            let attachment = try attachment(of: "d", in: database)
            #expect(code { try attachment.content() } == .corrupted, "file \(number)")
        }
        try good.write(to: url)
        #expect(try database.problems() == [])
    }

    @Test(arguments: [0, 100_000])
    func `content whose file is another one's by its head is stored anew`(_ length: Int) throws {
        let database = try sandbox.encrypted()
        let bytes = Sample.bytes(length)
        try attach(bytes, to: "first", in: database)
        let url = try #require(try files().first)
        let good = try Data(contentsOf: url)
        // The random bytes, the identity, its tag, its nonce.
        for place in [8, 40, 68, 84] {
            var bad = good
            bad[place] ^= 1
            try bad.write(to: url)
            try attach(bytes, to: "again-\(place)", in: database)
            let attachment = try attachment(of: "first", in: database)
            #expect(try attachment.content() == bytes, "byte \(place)")
        }
        #expect(try database.problems() == [])
    }

    @Test func `two that go on with one file seal no chunk with the same nonce`() throws {
        // As two copies of a process do: with the same key, and the same numbers of chunks.
        let dataKey = DataKey.random()
        let cipher = SealedContent.cipher(dataKey, salt: [UInt8](repeating: 1, count: 32))
        let form = SealedContent.form
        let chunk = Sample.bytes(100)
        var nonces: Set<[UInt8]> = []
        for _ in 0..<500 {
            for number in [0, 1, 2] {
                let sealed = form.seal(chunk.span, number, by: cipher)
                #expect(form.open(sealed, number, by: cipher) == chunk)
                #expect(form.open(sealed, number + 1, by: cipher) == nil)
                nonces.insert(sealed.suffix(8) + [UInt8(number)])
            }
        }
        #expect(nonces.count == 1_500)
    }

    @Test func `a file of the form of before, whose nonces are counted, is read`() throws {
        let database = try sandbox.encrypted()
        let bytes = Sample.bytes(2 * Self.chunk + 77)
        try attach(bytes, to: "d", in: database)
        let url = try #require(try files().first)
        let dataKey = try #require(database.core.options.dataKey)
        let form = SealedContent.Form.counted
        let salt = [UInt8](repeating: 9, count: SealedContent.saltSize)
        let cipher = SealedContent.cipher(dataKey, salt: salt)
        let key = try #require(database.core.attachments.key(ofFile: url.lastPathComponent))
        let start = form.magic + salt
        var file =
            start
            + form.seal(
                SealedContent.identity(key, bytes.count).span, 0, by: cipher, associated: start)
        #expect(file.count == 84)
        for (index, place) in stride(from: 0, to: bytes.count, by: Self.chunk).enumerated() {
            let chunk = Array(bytes[place..<min(place + Self.chunk, bytes.count)])
            file += form.seal(chunk.span, index + 1, by: cipher)
        }
        try Data(file).write(to: url)
        let attachment = try attachment(of: "d", in: database)
        #expect(try attachment.content() == bytes)
        #expect(try attachment.content(in: Self.chunk - 5..<Self.chunk + 5).count == 10)
        #expect(try database.problems() == [])
        // A copy keeps it as it is, or seals it anew.
        try database.backup(to: sandbox.url("copy"))
        let copy = try sandbox.encrypted("copy")
        #expect(try copy.existing("d").attachment(named: "a")?.content() == bytes)
    }

    @Test func `a genuine file in the place of another one is noticed`() throws {
        let database = try sandbox.encrypted()
        try attach(Sample.bytes(5_000, seed: 1), to: "a", in: database)
        try attach(Sample.bytes(5_000, seed: 2), to: "b", in: database)
        let urls = try files()
        let (first, second) = (try Data(contentsOf: urls[0]), try Data(contentsOf: urls[1]))
        try second.write(to: urls[0])
        try first.write(to: urls[1])
        for id: DocumentID in ["a", "b"] {
            let attachment = try attachment(of: id, in: database)
            #expect(code { try attachment.content() } == .corrupted)
        }
    }

    @Test func `content passes between databases with and without encryption`() throws {
        let encrypted = try sandbox.encrypted()
        let plain = try sandbox.database("plain") { $0.encryptionKey = nil }
        let other = try sandbox.encrypted("other", key: EncryptionSamples.key(9))
        let bytes = Sample.bytes(200_000)
        try attach(bytes, to: "d", in: encrypted)
        for target in [plain, other] {
            let source = try attachment(of: "d", in: encrypted)
            let document = MutableDocument(id: "copy")
            document.setAttachment(
                named: "a", contentType: nil, .stream(try source.makeReader()))
            try target.save(document)
            #expect(try attachment(of: "copy", in: target).content() == bytes)
        }
        let blob = try Blob(contentType: nil, stream: BytesStream(bytes))
        #expect(try blob.content() == bytes)
        let document = MutableDocument(id: "blob")
        document["blob"] = blob
        try encrypted.save(document)
        #expect(try encrypted.existing("blob").blob(forKey: "blob")?.content() == bytes)
    }

    @Test func `gzip is decoded from what is decrypted`() throws {
        let database = try sandbox.encrypted()
        let document = MutableDocument(id: "d")
        document.setAttachment(
            named: "a", contentType: "text/plain", .bytes(Sample.helloGzip).gzipped())
        try database.save(document)
        #expect(try attachment(of: "d", in: database).content() == Sample.hello)
    }

    @Test func `backups take the files along as they are`() throws {
        let database = try sandbox.encrypted()
        try attach(Sample.bytes(100_000), to: "d", in: database)
        try database.backup(to: sandbox.url("backup"), progress: nil as ProgressHandler?)
        database.close()
        let backup = try sandbox.encrypted("backup")
        #expect(try attachment(of: "d", in: backup).content() == Sample.bytes(100_000))
        #expect(try backup.problems() == [])
    }

    @Test func `names of files go to the digest and back, and are those of the format`() throws {
        let key = SecretBytes(copying: [UInt8](0..<32).span)
        let names = AttachmentNames(key: DataKey(key).names)
        let hello = try #require(AttachmentKey(fileName: Sample.helloFile))
        #expect(names.name(of: hello) == "923230dea30ebe63a53a2c4bd7a08922626f01e1")
        var seen: Set<String> = []
        for seed in 0..<500 {
            let made = AttachmentKey(Sample.bytes(20, seed: UInt64(seed)).span)
            let content = try #require(made)
            let name = names.name(of: content)
            #expect(names.content(of: name) == content)
            #expect(seen.insert(name).inserted)
        }
        #expect(names.content(of: "tmp") == nil)
        #expect(AttachmentNames(key: nil).name(of: hello) == Sample.helloFile)
    }
}

/// A stream that calls a function of the test between its pieces.
private final class WatchedStream: AttachmentReader {
    private let inner: BytesStream
    private let look: @Sendable () throws -> Void
    private let counter = Record<Int>()

    init(_ bytes: [UInt8], _ look: @escaping @Sendable () throws -> Void) {
        inner = BytesStream(bytes)
        self.look = look
    }

    var looks: Int { counter.all.count }

    func read(upTo count: Int) throws -> [UInt8] {
        try look()
        counter.append(1)
        return try inner.read(upTo: count)
    }
}

/// A stream of bytes that are there.
private final class BytesStream: AttachmentReader {
    private let bytes: [UInt8]
    private let position = Mutex(0)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(upTo count: Int) throws -> [UInt8] {
        position.withLock { position in
            let end = min(bytes.count, position + count)
            defer { position = end }
            return Array(bytes[position..<end])
        }
    }
}
