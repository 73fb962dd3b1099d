// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanSystem
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

#if canImport(Glibc)
import Glibc
#endif

@testable import DivanDatabase

/// A suspended manager holds no lock and no file, and takes up again where others left off.
@Suite(.timeLimit(.minutes(10))) struct SuspensionTests {
    private let sandbox = Sandbox()

    /// The names of the files in the folder that this process has open.
    private func openFiles() throws -> [String] {
        let folder = sandbox.folder.path(percentEncoded: false)
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        // A descriptor may go while the list is read.
        return descriptors.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }.filter { $0.hasPrefix(folder) }.map { Files.lastComponent(of: $0) }
    }

    @Test func `while suspended no engine file is open and nobody is locked out`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        try database.create("a")
        _ = try database.allDocuments()
        #expect(try openFiles().contains(TestEngine.mainFile))
        try manager.suspend()
        #expect(manager.isSuspended)
        #expect(database.isSuspended)
        #expect(try openFiles().allSatisfy { !$0.hasPrefix(TestEngine.mainFile) })
        // What needs the lock exclusively gets it.
        try DirectoryLock.whileExclusive(at: database.path, timeout: .zero) {}
        #expect(code { try database.document(withID: "a") } == .databaseSuspended)
        #expect(code { try database.create("b") } == .databaseSuspended)
        #expect(code { try database.documentCount } == .databaseSuspended)
        #expect(code { try manager.database(named: "other") } == .databaseSuspended)
        try manager.suspend()
        try manager.resume()
        #expect(!database.isSuspended)
        #expect(try database.document(withID: "a") != nil)
        try database.create("b")
        let path = database.path
        let locked = code { try DirectoryLock.whileExclusive(at: path, timeout: .zero) {} }
        #expect(locked == .databaseBusy)
        try manager.resume()
        #expect(try database.documentCount == 2)
        #expect(try database.verify().isEmpty)
        manager.close()
    }

    /// The locks of any kind that this process has on files in the folder, as the system tells them.
    private func locks() throws -> [String] {
        let folder = sandbox.folder.path(percentEncoded: false)
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").flatMap {
            number -> [String] in
            let link = "/proc/self/fd/\(number)"
            // A descriptor may go while the list is read.
            guard
                let file = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
                file.hasPrefix(folder),
                let facts = try? String(
                    contentsOf: URL(filePath: "/proc/self/fdinfo/\(number)"), encoding: .utf8)
            else { return [] }
            return facts.split(separator: "\n").filter { $0.hasPrefix("lock:") }.map {
                "\(file) \($0)"
            }
        }
    }

    @Test(
        .enabled(
            if: Machine.has("/proc/self/fdinfo"), "The system does not tell which locks there are.")
    )
    func `a suspended app holds no lock of any kind while its extension works`() async throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        try database.create("a", ["n": 1])
        // The app is in the middle of things: it is told of changes, shows rows, has attachments open.
        let token = try database.addChangeListener { _ in }
        let query = database.allDocumentsQuery().live()
        let listener = query.addChangeListener { _ in }
        await eventually { query.rows?.count == 1 }
        #expect(try !locks().isEmpty)
        try manager.suspend()
        #expect(try locks() == [])
        let path = database.path
        let answers = try await offPool {
            let child = try TestChild("serve", path)
            let answers = [child.readLine(), try child.ask("save b 1"), try child.ask("get b")]
            #expect(child.finish() == 0)
            return answers
        }
        #expect(answers.first == "ready")
        #expect(answers.last == "1")
        #expect(try locks() == [])
        // No process holds it, so the extension may even have it for itself.
        try DirectoryLock.whileExclusive(at: path, timeout: .zero) {}
        try manager.resume()
        #expect(try !locks().isEmpty)
        await eventually { query.rows?.count == 2 }
        token.remove()
        listener.remove()
        manager.close()
        #expect(try locks() == [])
    }

    @Test func `what others commit meanwhile is told after resuming`() async throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        try database.create("a")
        let told = Record<String>()
        let token = try database.addChangeListener { change in
            for change in change.changes { told.append(change.documentID.text) }
        }
        let live = try database.liveDocument(withID: "a")
        #expect(live.properties["n"] == nil)
        let query = database.allDocumentsQuery().live()
        let rows = Record<Int>()
        let listener = query.addChangeListener { update in
            if let found = try? update.get() { rows.append(found.rows.count) }
        }
        await eventually { rows.all.last == 1 }
        try manager.suspend()
        let path = database.path
        let answers = try await offPool {
            let child = try TestChild("serve", path)
            let answers = [child.readLine(), try child.ask("save a 7"), try child.ask("save b 1")]
            #expect(child.finish() == 0)
            return answers
        }
        #expect(answers.first == "ready")
        #expect(told.all.isEmpty)
        #expect(live.properties["n"] == nil)
        try manager.resume()
        await eventually { Set(told.all) == ["a", "b"] }
        await eventually { live.properties["n"] == 7 }
        await eventually { rows.all.last == 2 }
        token.remove()
        listener.remove()
        manager.close()
    }

    @Test func `suspending waits for the batch that runs, and is refused inside one`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        let (inside, mayEnd) = (Gate(), Gate())
        let writer = Running {
            try database.inBatch {
                try database.create("a")
                inside.open()
                mayEnd.wait()
                try database.create("b")
            }
        }
        inside.wait()
        let suspender = Running { try manager.suspend() }
        eventually { database.isSuspended }
        mayEnd.open()
        _ = try writer.value()
        _ = try suspender.value()
        try manager.resume()
        #expect(try database.documentCount == 2)
        try database.inBatch {
            #expect(code { try manager.suspend() } == .databaseBusy)
            try database.create("c")
        }
        try manager.resume()
        let isThere = try database.read { transaction in
            #expect(code { try manager.suspend() } == .databaseBusy)
            return try transaction.contains("c")
        }
        #expect(isThere)
        try manager.resume()
        #expect(try database.documentCount == 3)
        manager.close()
    }

    @Test func `a database that is deleted or replaced meanwhile is closed on resuming`() throws {
        let manager = try sandbox.manager()
        let (gone, kept) = (
            try manager.database(named: "gone"), try manager.database(named: "kept")
        )
        try kept.create("a")
        try manager.suspend()
        try FileManager.default.removeItem(at: sandbox.url("gone"))
        #expect(code { try manager.resume() } == .databaseClosed)
        #expect(gone.isClosed)
        #expect(try kept.documentCount == 1)
        manager.close()
    }

    @Test func `a suspended database can be closed, and is whole when opened again`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        try database.create("a")
        try manager.suspend()
        manager.close()
        #expect(database.isClosed)
        #expect(code { try database.documentCount } == .databaseClosed)
        try manager.resume()
        let again = try sandbox.database()
        #expect(try again.documentCount == 1)
        again.close()
    }

    @Test func `dates of expiration that come meanwhile are kept after resuming`() async throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        try database.create("a")
        try database.setExpiration(of: "a", at: Date(timeIntervalSinceNow: 0.2))
        try manager.suspend()
        try await Task.sleep(for: .milliseconds(400))
        try manager.resume()
        await eventually { (try? database.documentCount) == 0 }
        manager.close()
    }

    @Test
    func `a writer of a database that is suspended and resumed a hundred times loses nothing`()
        throws
    {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        let stop = Gate()
        let writers = (0..<2).map { writer in
            Running {
                var saved = 0
                while !stop.isOpen {
                    do {
                        try database.create("\(writer)-\(saved)")
                        saved += 1
                    } catch let error as DatabaseError where error.code == .databaseSuspended {
                        usleep(500)
                    }
                }
                return saved
            }
        }
        let reader = Running {
            while !stop.isOpen {
                do { _ = try database.allDocuments().count } catch let error as DatabaseError
                    where error.code == .databaseSuspended
                { usleep(500) }
            }
        }
        for _ in 0..<100 {
            try manager.suspend()
            #expect(try openFiles().allSatisfy { !$0.hasPrefix(TestEngine.mainFile) })
            #expect(try locks() == [])
            try manager.resume()
            usleep(2_000)
        }
        stop.open()
        let saved = try writers.reduce(0) { try $0 + ($1.value() ?? 0) }
        _ = try reader.value()
        #expect(try database.documentCount == saved)
        #expect(try database.verify().isEmpty)
        manager.close()
    }

    @Test func `what needs the whole database is refused while it is suspended`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        try database.create("a")
        try manager.suspend()
        let before = try sandbox.contents()
        let works: [() throws -> Void] = [
            { try database.delete() }, { try database.replaceUUIDs() },
            { try database.changeEncryptionKey(to: nil) },
            { try database.changeEncryptionKey(to: .password("p"), reencrypt: true) },
            { try database.compact() }, { try database.purgeExpired() }, { try database.sync() },
            { try database.backup(to: sandbox.url("copy")) },
        ]
        for work in works { #expect(code(work) == .databaseSuspended) }
        #expect(try sandbox.contents() == before)
        try manager.resume()
        #expect(try database.documentCount == 1)
        manager.close()
    }
}
