// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
internal import DivanModel
import DivanStorage
import DivanStorageConformance
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Processes that die and storage that fails while attachments come and go.
@Suite struct AttachmentCrashTests {
    @Test func `a kill leaves no reference without its file, and orphans go with the next sweep`()
        async throws
    {
        let directory = try TestDirectory("attach-kill")
        let total = try await offPool {
            let path = directory.path("app.divan")
            var saved = 0
            for round in Soak.rounds(test: 20, soak: 200) {
                var random = Soak.random(round: round, salt: 0x6174_7461)
                let child = try TestChild("attach", path, "\(random.next())")
                _ = child.readLine()
                var lines = child.readLines(through: random.below(6), "")
                lines += child.readLines(killingAfterMicroseconds: random.below(60_000))
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                saved += lines.count
                try check(path, lines, round: round)
            }
            return saved
        }
        // So many that the kills have hit children at work.
        #expect(total > Soak.count(test: 20, soak: 200))
    }

    private func check(_ path: String, _ lines: [String], round: Int) throws {
        let database = try Database.forTest(at: path)
        defer { database.close() }
        let problems = try database.verify()
        #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
        // What was said to be saved last is there, unless it was purged or deleted after.
        if let last = lines.last?.split(separator: " ").map(String.init), last.count >= 2,
            let document = try? database.document(
                withID: DocumentID(last[0]), revision: RevisionID(last[1]))
        {
            #expect(document.attachments.map(\.digest) == Array(last.dropFirst(2)))
            for attachment in document.attachments { try attachment.verify() }
        }
        let tmp = path + "/data-1/attachments/tmp"
        #expect((try? FileManager.default.contentsOfDirectory(atPath: tmp)) ?? [] == [])
        guard round % 4 == 3 else { return }
        try database.compact()
        #expect(try database.unusedAttachments().files == 0)
        #expect(try database.verify().isEmpty)
    }

    @Test func `two processes that add, remove and sweep the same contents lose none`() async throws
    {
        let directory = try TestDirectory("attach-two")
        try await offPool {
            let path = directory.path("app.divan")
            try Database.forTest(at: path, create: true).close()
            let rounds = Soak.count(test: 200, soak: 10_000)
            var random = Soak.random(round: 0, salt: 0x7477_6F)
            let children = try ["left", "right"].map {
                try TestChild("contents", path, $0, "\(random.next())", "\(rounds)")
            }
            for child in children {
                #expect(Self.lines(of: child) == ["done"])
                #expect(child.wait() == 0)
            }
            let database = try Database.forTest(at: path)
            defer { database.close() }
            #expect(try database.verify().map(\.message) == [])
            try database.compact()
            #expect(try database.unusedAttachments().files == 0)
        }
    }

    /// All lines of a child that may take its time.
    private static func lines(of child: TestChild) -> [String] {
        var lines: [String] = []
        for _ in 0..<60 where lines.last != "done" {
            if let line = child.readLine() { lines.append(line) }
        }
        return lines
    }

    @Test(arguments: [StorageError.Code.full, .io])
    func `a storage that fails between a file and its row leaves no half`(
        _ failure: StorageError.Code
    ) throws {
        var number = 0
        while true {
            number += 1
            let directory = try TestDirectory("attach-fault")
            var options = StorageOptions()
            options.createsIfMissing = true
            let storage = try KnownEngines.standard.open(
                directory: directory.path, options: options)
            // Kept, since a database that goes closes its engine.
            let filled = try Self.database(on: storage, directory)
            defer { filled.close() }
            try filled.create("a", attachments: ["x": [1], "y": [2]])
            let plan = FaultPlan(failing: number, with: failure)
            let database = try Self.database(on: FaultyEngine(storage, plan: plan), directory)
            let result = Result { try Self.work(on: database) }
            #expect(try database.verify().map(\.message) == [])
            let document = try database.existing("a")
            for attachment in document.attachments { try attachment.verify() }
            #expect(document.attachmentNames == ["x"] || document.attachmentNames == ["x", "y"])
            guard plan.hasFailed else {
                try result.get()
                break
            }
            // The fault was one: the next sweep removes what it left.
            try database.compact()
            #expect(try database.unusedAttachments().files == 0)
            #expect(try database.verify().map(\.message) == [])
        }
        #expect(number > 10, "Few writes were ever failed.")
    }

    private static func work(on database: Database) throws {
        try database.inBatch {
            try database.update("a") {
                $0.setAttachment(named: "x", contentType: nil, .bytes([3]))
                $0.removeAttachment(named: "y")
            }
            try database.create("b", attachments: ["z": [4]])
        }
        try database.compact()
    }

    private static func database(on engine: any StorageEngine, _ directory: TestDirectory) throws
        -> Database
    {
        let core = try DatabaseCore(
            name: "faulty", directory: nil, engine: engine, options: DatabaseOptions(),
            dataPath: directory.path)
        return Database(name: "faulty", core: core, readOnly: false, registration: nil)
    }
}
