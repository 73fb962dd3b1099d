// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// What content takes on its way into a database, and what is left of that once it is there.
@Suite struct StagedContentTests {
    struct Photo: DocumentModel {
        var identity = ModelIdentity()
        var title = ""
        var image: Blob?
    }

    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    /// How many descriptors this process has for files of attachments.
    private func openFiles() throws -> Int {
        try Self.openFiles(below: database.path + "/data-1/attachments/")
    }

    private static func openFiles(below folder: String) throws -> Int {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        // A descriptor may go while the list is read.
        return descriptors.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }.count { $0.hasPrefix(folder) }
    }

    private func note(_ number: Int, _ content: AttachmentContent) -> MutableDocument {
        let note = MutableDocument(id: DocumentID("note-\(number)"))
        note.setAttachment(named: "x", contentType: nil, content)
        return note
    }

    /// A file with content, which the caller may remove.
    private func file(_ bytes: [UInt8]) throws -> URL {
        let url = sandbox.folder.appending(path: "source")
        try Data(bytes).write(to: url)
        return url
    }

    // MARK: - Descriptors

    @Test(.enabled(if: Machine.has("/proc/self/fd"), "It needs /proc."))
    func `contents saved in one transaction take one descriptor`() throws {
        let notes = (0..<40).map { note($0, .stream(MadeStream(length: 300 + $0))) }
        try database.write { transaction in
            for note in notes { try transaction.save(note) }
            #expect(try openFiles() <= 1)
        }
        // The app still holds the documents, and has not asked them for anything.
        #expect(try openFiles() == 0)
        #expect(try database.temporaryFiles() == [])
        #expect(notes.allSatisfy { !$0.hasUnsavedChanges })
        #expect(try database.attachmentFiles().count == 40)
    }

    @Test(.enabled(if: Machine.has("/proc/self/fd"), "It needs /proc."))
    func `contents of one document take one descriptor while they wait for the writer`() throws {
        let most = Record<Int>()
        let folder = database.path + "/data-1/attachments/"
        let document = MutableDocument(id: "a")
        for number in 0..<40 {
            let stream = WatchedStream([UInt8(number)]) {
                most.append(try Self.openFiles(below: folder))
            }
            document.setAttachment(named: "\(number)", contentType: nil, .stream(stream))
        }
        try database.save(document)
        // That of the lock, and that of the file that is written.
        #expect(most.all.count == 40 && most.all.allSatisfy { $0 <= 2 })
        #expect(try openFiles() == 0)
    }

    @Test(.enabled(if: Machine.has("/proc/self/fd"), "It needs /proc."))
    func `models that were saved take neither a descriptor nor a temporary file`() throws {
        let url = try file([1, 2, 3])
        var photos = try (0..<40).map { number in
            let blob =
                number == 0
                ? try Blob(contentType: nil, file: url)
                : Blob(contentType: nil, Sample.bytes(100, seed: UInt64(number)))
            return Photo(image: blob)
        }
        try database.save(&photos)
        #expect(try openFiles() == 0)
        #expect(try database.temporaryFiles() == [])
        // They hold their content still, and are saved again.
        try FileManager.default.removeItem(at: url)
        for index in photos.indices { photos[index].title = "edited" }
        try database.save(&photos)
        for photo in photos {
            let stored = try database.existing(photo.id).blob(forKey: "image")
            #expect(try stored?.content().count == photo.image?.length)
        }
        #expect(try openFiles() == 0)
        #expect(try database.temporaryFiles() == [])
        #expect(try database.problems() == [])
    }

    // MARK: - Once more

    @Test func `a stream saved in a batch that is undone is saved again after a sweep`() throws {
        let note = note(1, .stream(MadeStream(length: 700_000)))
        let model = Photo(image: try Blob(contentType: nil, stream: MadeStream(length: 900)))
        var copy = model
        try? database.write { transaction in
            try transaction.save(note)
            try transaction.save(&copy)
            throw Whim()
        }
        #expect(try database.compact().attachmentsRemoved == 2)
        try database.save(note)
        copy = model
        try database.save(&copy)
        let stored = try database.existing("note-1").attachment(named: "x")
        #expect(try stored?.content().count == 700_000)
        try stored?.verify()
        #expect(try database.existing(model.id).blob(forKey: "image")?.content().count == 900)
        #expect(try database.temporaryFiles() == [])
    }

    @Test func `a file that went after a save that is undone is saved again after a sweep`() throws
    {
        let url = try file([1, 2, 3])
        let note = note(1, .file(url))
        try database.write { transaction in
            try transaction.save(MutableDocument(id: "kept"))
            try? database.inBatch {
                try database.save(note)
                throw Whim()
            }
        }
        try FileManager.default.removeItem(at: url)
        #expect(try database.compact().attachmentsRemoved == 1)
        try database.save(note)
        #expect(try database.existing("note-1").attachment(named: "x")?.content() == [1, 2, 3])
        #expect(try database.temporaryFiles() == [])
    }

    @Test func `content that was swept after its save is saved again`() throws {
        let photo = Photo(image: Blob(contentType: nil, Sample.hello))
        var first = photo
        try database.save(&first)
        try database.purge(photo.id)
        #expect(try database.compact().attachmentsRemoved == 1)
        var second = photo
        try database.save(&second)
        #expect(try database.existing(photo.id).blob(forKey: "image")?.content() == Sample.hello)
    }

    @Test func `a file that was saved is copied from there into another database`() throws {
        let url = try file([1, 2, 3])
        let photo = Photo(image: try Blob(contentType: nil, file: url))
        var here = photo
        try database.save(&here)
        try FileManager.default.removeItem(at: url)
        let other = try sandbox.database("other")
        var there = photo
        try other.save(&there)
        #expect(try other.existing(photo.id).blob(forKey: "image")?.content() == [1, 2, 3])
    }
}

/// A stream of a few bytes that tells when they are read.
private final class WatchedStream: AttachmentReader {
    private let bytes: [UInt8]
    private let look: @Sendable () throws -> Void
    private let isDone = Flag()

    init(_ bytes: [UInt8], _ look: @escaping @Sendable () throws -> Void) {
        self.bytes = bytes
        self.look = look
    }

    func read(upTo count: Int) throws -> [UInt8] {
        if isDone.set() { return [] }
        try look()
        return bytes
    }
}
