// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// The files of attachments: one for each content, as long as any revision refers to it.
@Suite struct AttachmentStoreTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    @Test func `a content is one file named by its SHA-1, beside the engine's`() throws {
        try database.create("a", attachments: ["x": Sample.hello, "y": Sample.hello])
        try database.create("b", attachments: ["z": Sample.hello])
        #expect(try database.attachmentFiles() == [Sample.helloFile])
        let file = database.path + "/data-1/attachments/" + Sample.helloFile
        #expect(FileManager.default.contents(atPath: file) == Data(Sample.hello))
        #expect(try database.references() == ["\(Sample.helloFile) 1", "\(Sample.helloFile) 2"])
    }

    @Test func `a database without attachments has no folder for them`() throws {
        try database.create("a", ["n": 1])
        try database.compact()
        #expect(!FileManager.default.fileExists(atPath: database.path + "/data-1/attachments"))
        #expect(!FileManager.default.fileExists(atPath: database.path + "/data-1/attachments.lock"))
    }

    @Test func `the disk size counts attachments`() throws {
        let before = try database.diskSize
        try database.create("a", attachments: ["x": Sample.bytes(1_000_000)])
        #expect(try database.diskSize >= before + 1_000_000)
    }

    // MARK: - Staying and going

    @Test func `a replaced content stays until compaction`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.update("a") { $0.setAttachment(named: "x", contentType: nil, .bytes([1])) }
        #expect(try database.attachmentFiles().count == 2)
        let result = try database.compact()
        #expect(result.attachmentsRemoved == 1)
        #expect(result.bytesFreed >= 0)
        #expect(try database.attachmentFiles().count == 1)
        #expect(try database.existing("a").attachment(named: "x")?.content() == [1])
        #expect(try database.problems() == [])
    }

    @Test func `a deletion keeps the content until compaction`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.delete("a")
        #expect(try database.attachmentFiles() == [Sample.helloFile])
        #expect(try database.compact().attachmentsRemoved == 1)
        #expect(try database.attachmentFiles() == [])
    }

    @Test func `a purge lets go of the content, and the sweep removes it`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.purge("a")
        #expect(try database.references() == [])
        let unused = try database.unusedAttachments()
        #expect(unused.files == 1)
        #expect(unused.bytes == 5)
        #expect(try database.problems() == [])
        #expect(try database.compact().attachmentsRemoved == 1)
        #expect(try database.unusedAttachments().files == 0)
    }

    @Test func `pruned revisions let go of their contents`() throws {
        try database.setRevisionBodyLimit(2)
        for number in 0..<5 {
            let bytes = [UInt8(number)]
            if number == 0 {
                try database.create("a", attachments: ["x": bytes])
            } else {
                try database.update("a") {
                    $0.setAttachment(named: "x", contentType: nil, .bytes(bytes))
                }
            }
        }
        #expect(try database.references().count == 2)
        #expect(try database.problems() == [])
        try database.compact()
        #expect(try database.attachmentFiles().count == 1)
    }

    @Test func `a conflicting branch keeps its contents through compaction`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.putExistingRevision(
            "a", ["_attachments": ["y": ["data": "AQ=="]]], history: ["1-0"])
        try database.update("a") { $0["n"] = 1 }
        #expect(try database.compact().attachmentsRemoved == 0)
        for revision in try database.conflictingRevisions(of: "a") {
            for attachment in revision.attachments { try attachment.verify() }
        }
        let losing = try #require(try database.document(withID: "a", revision: "1-0"))
        #expect(try losing.attachment(named: "y")?.content() == [1])
        try database.delete(losing)
        #expect(try database.compact().attachmentsRemoved == 1)
        #expect(try database.attachmentFiles() == [Sample.helloFile])
        #expect(try database.problems() == [])
    }

    @Test func `a merge of conflicting revisions keeps the contents of both`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.putExistingRevision(
            "a", ["_attachments": ["y": ["data": "AQ=="]]], history: ["1-0"])
        let merged = try database.resolveConflicts(of: "a", with: .mergeFields)
        #expect(merged?.attachmentNames == ["x", "y"])
        #expect(merged?.attachment(named: "y")?.revisionPosition == 2)
        try database.compact()
        #expect(try database.existing("a").attachment(named: "x")?.content() == Sample.hello)
        #expect(try database.existing("a").attachment(named: "y")?.content() == [1])
        #expect(try database.problems() == [])
    }

    @Test func `content shared by two documents goes with the second`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.create("b", attachments: ["y": Sample.hello])
        try database.purge("a")
        #expect(try database.compact().attachmentsRemoved == 0)
        #expect(try database.existing("b").attachment(named: "y")?.content() == Sample.hello)
        try database.purge("b")
        #expect(try database.compact().attachmentsRemoved == 1)
    }

    @Test func `a large body keeps its attachments, too`() throws {
        let filler = JSONValue.string(String(repeating: "x", count: 100_000))
        try database.create("a", ["filler": filler], attachments: ["x": Sample.hello])
        #expect(try database.problems() == [])
        try database.purge("a")
        #expect(try database.references() == [])
    }

    @Test func `a refused edit leaves no row`() throws {
        try database.create("a")
        #expect(code { try database.create("a", attachments: ["x": Sample.hello]) } == .conflict)
        #expect(try database.references() == [])
        #expect(try database.compact().attachmentsRemoved == 1)
        #expect(try database.temporaryFiles() == [])
    }

    // MARK: - Leftovers and backups

    @Test func `leftovers of dead processes go when the database is opened`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        database.close()
        let temporary = database.path + "/data-1/attachments/tmp"
        let folder = temporary + "/folder"
        for path in [folder, temporary + "/without-lock"] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        }
        // Earlier releases had no folders.
        for path in [temporary + "/left", folder + "/1", folder + "/lock"] {
            try Data([1, 2, 3]).write(to: URL(filePath: path))
        }
        let again = try sandbox.database()
        #expect(try again.temporaryFiles() == [])
        #expect(try again.existing("a").attachment(named: "x")?.content() == Sample.hello)
    }

    @Test func `a temporary file that somebody holds stays`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        let document = MutableDocument(id: "b")
        document.setAttachment(
            named: "x", contentType: nil,
            .stream(
                WatchedStream {
                    // Another handle, as in another process, cleans up in the middle of staging.
                    #expect(try database.temporaryFiles().count == 1)
                    try database.compact()
                    #expect(try database.temporaryFiles().count == 1)
                }))
        try database.save(document)
        #expect(try database.existing("b").attachment(named: "x")?.content() == [7])
        #expect(try database.temporaryFiles() == [])
    }

    @Test func `a sweep waits for no backup, and leaves the files to the next one`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.purge("a")
        let backup = try LockHolder(database.path + "/data-1/attachments.lock")
        let skipped = try database.compact()
        #expect(skipped.attachmentsSkipped)
        #expect(skipped.attachmentsRemoved == 0)
        backup.release()
        let done = try database.compact()
        #expect(!done.attachmentsSkipped)
        #expect(done.attachmentsRemoved == 1)
    }

    @Test func `a cancelled sweep leaves whole files and sound rows`() throws {
        for number in 0..<20 {
            try database.create("\(number)", attachments: ["x": [UInt8(number)]])
        }
        for number in 0..<10 { try database.purge("\(number)") }
        #expect(throws: Whim.self) {
            try database.compact { report in
                if report.phase == "removing unused attachments" { throw Whim() }
            }
        }
        #expect(try database.attachmentFiles().count == 20)
        #expect(try database.problems() == [])
        #expect(try database.compact().attachmentsRemoved == 10)
    }

    // MARK: - Verification and salvage

    @Test func `salvage brings attachments along and lists those that are lost`() throws {
        try database.create("a", attachments: ["x": Sample.hello, "y": [1, 2, 3]])
        let blob = Blob(contentType: nil, [9, 9])
        let document = MutableDocument(id: "b")
        document["blob"] = blob
        try database.save(document)
        let lost = try #require(try database.existing("a").attachment(named: "y")?.fileURL)
        try FileManager.default.removeItem(at: lost)
        database.close()
        let target = sandbox.folder.appending(path: "copy.divan")
        let result = try Database.salvage(from: sandbox.url(), to: target)
        #expect(result.documentsCopied == 2)
        #expect(result.attachmentsCopied == 2)
        #expect(result.problems.contains { $0.message.contains("is lost") })
        let copy = try Database.open(at: target)
        defer { copy.close() }
        #expect(try copy.existing("a").attachment(named: "x")?.content() == Sample.hello)
        #expect(try copy.existing("a").attachment(named: "y")?.isContentAvailable == false)
        #expect(try copy.existing("b").blob(forKey: "blob")?.content() == [9, 9])
        #expect(try copy.problems() == [])
    }
}

/// A stream of one byte that lets something happen in its middle.
private final class WatchedStream: AttachmentReader {
    private let middle: @Sendable () throws -> Void
    private let isDone = Flag()

    init(_ middle: @escaping @Sendable () throws -> Void) { self.middle = middle }

    func read(upTo count: Int) throws -> [UInt8] {
        if isDone.set() { return [] }
        try middle()
        return [7]
    }
}
