// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

@Suite struct ManagerTests {
    private let sandbox = Sandbox()

    @Test func `a manager makes its directory and nothing else`() throws {
        let manager = try sandbox.manager()
        #expect(FileManager.default.fileExists(atPath: sandbox.folder.path()))
        #expect(try manager.allDatabaseNames() == [])
        #expect(manager.directory == sandbox.folder)
    }

    @Test func `a database lies in a directory of its name`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        #expect(database.name == "app")
        #expect(database.path == sandbox.url("app").path(percentEncoded: false))
        let paths = try sandbox.contents().keys
        #expect(!paths.isEmpty)
        #expect(paths.allSatisfy { $0.hasPrefix("app.divan/") })
    }

    @Test func `a name gives the same object each time, from any thread`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        #expect(try manager.database(named: "app") === database)
        #expect(try manager.existingDatabase(named: "app") === database)
        #expect(manager["app"] === database)
        let work = (0..<8).map { _ in
            Running {
                try (0..<50).map { _ in ObjectIdentifier(try manager.database(named: "new")) }
            }
        }
        let objects = try work.flatMap { try $0.value() ?? [] }
        #expect(Set(objects).count == 1)
        #expect(objects.count == 400)
    }

    @Test func `a closed database is opened anew as another object`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        try database.create("a")
        database.close()
        let again = try manager.database(named: "app")
        #expect(again !== database)
        #expect(try again.contains("a"))
    }

    @Test func `of many that create a database, one does`() async throws {
        let managers = try (0..<4).map { _ in try sandbox.manager() }
        for round in 0..<20 {
            let made = await withTaskGroup(of: DatabaseError.Code?.self) { group in
                for manager in managers + managers {
                    group.addTask {
                        code {
                            _ = try manager.createDatabase(named: "a\(round)", partitioned: false)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(made.filter { $0 == nil }.count == 1)
            #expect(made.filter { $0 == .databaseExists }.count == 7)
        }
    }

    @Test func `a missing database is nil and nothing is created`() throws {
        let manager = try sandbox.manager()
        #expect(try manager.existingDatabase(named: "app") == nil)
        #expect(manager["app"] == nil)
        #expect(!manager.databaseExists(named: "app"))
        #expect(
            code { try manager.openDatabase(named: "app", options: DatabaseOptions()) }
                == .databaseNotFound)
        #expect(try manager.allDatabaseNames() == [])
    }

    @Test func `names are listed sorted, open or not, and other files are not`() throws {
        let manager = try sandbox.manager()
        for name in ["b", "a/b$c(d)+-1", "a"] { _ = try manager.database(named: name) }
        try manager.database(named: "b").close()
        try FileManager.default.createDirectory(
            at: sandbox.folder.appending(path: "empty.divan"), withIntermediateDirectories: false)
        try Data().write(to: sandbox.folder.appending(path: "file.divan"))
        #expect(try manager.allDatabaseNames() == ["a", "a/b$c(d)+-1", "b"])
        #expect(manager.databaseExists(named: "a/b$c(d)+-1"))
        #expect(!manager.databaseExists(named: "empty"))
    }

    @Test func `options count for the first opening only`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        var options = DatabaseOptions()
        options.readOnly = true
        #expect(try manager.openDatabase(named: "app", options: options) === database)
        try database.create("a")
    }

    @Test func `deleting removes the directory and closes every handle`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        try database.create("a")
        try manager.deleteDatabase(named: "app")
        #expect(!manager.databaseExists(named: "app"))
        #expect(try sandbox.contents().isEmpty)
        #expect(database.isClosed)
        #expect(code { try database.documentCount } == .databaseClosed)
        #expect(code { try manager.deleteDatabase(named: "app") } == .databaseNotFound)
        #expect(try manager.database(named: "app").documentCount == 0)
    }

    @Test func `closing a manager closes its databases and it opens none after that`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        manager.close()
        #expect(database.isClosed)
        #expect(code { try manager.database(named: "app") } == .databaseClosed)
        #expect(code { try manager.existingDatabase(named: "app") } == .databaseClosed)
        #expect(try sandbox.manager().database(named: "app").documentCount == 0)
    }

    @Test func `a directory that cannot be made is an error`() throws {
        let file = sandbox.folder.appending(path: "file")
        _ = try sandbox.manager()
        try Data().write(to: file)
        #expect(code { try Manager(directory: file.appending(path: "below")) } == .io)
    }

    @Test func `the default directory is below the home directory or where XDG says`() {
        let path = Manager.defaultDirectory.path(percentEncoded: false)
        let environment = ProcessInfo.processInfo.environment
        #if os(Linux)
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
            #expect(path == data + "/divan")
        } else {
            #expect(path == (environment["HOME"] ?? ".") + "/.local/share/divan")
        }
        #else
        #expect(path.hasSuffix("/Library/Application Support/Divan"))
        #endif
    }

    @Test func `data survive a manager`() throws {
        try sandbox.manager().database(named: "app").create("a", ["n": 1])
        #expect(try sandbox.manager().database(named: "app").existing("a")["n"].int == 1)
    }

    @Test func `a database knows its manager for as long as somebody holds that`() throws {
        var manager: Manager? = try sandbox.manager()
        let database = try #require(try manager?.database(named: "app"))
        #expect(database.manager === manager)
        #expect(manager != nil)
        #expect(try sandbox.database("app").manager == nil)
        #expect(try Database.inMemory().manager == nil)
        manager = nil
        #expect(database.manager == nil)
        try database.create("a")
    }

    @Test func `the shared manager is one object, in the directory that XDG says`() async throws {
        let directory = try TestDirectory("shared")
        try await offPool {
            let child = try TestChild("shared", directory.path)
            let lines = child.readLines()
            #expect(child.wait() == 0)
            #expect(lines.first == "managers 1 of 64")
            #if os(Linux)
            #expect(lines.dropFirst().first == "directory \(directory.path("divan"))")
            #endif
            #expect(lines.last?.hasPrefix("document 1-") == true)
        }
    }

    @Test func `a manager that is closed while others open leaves nothing open`() throws {
        for _ in 0..<50 {
            let manager = try sandbox.manager()
            let threads = (0..<2).map { thread in
                Running {
                    var opened: [Database] = []
                    for number in 0..<20 {
                        guard let one = try? manager.database(named: "db\(thread)-\(number % 4)")
                        else { break }
                        opened.append(one)
                        if number % 3 == 0 { one.close() }
                    }
                    return opened
                }
            }
            manager.close()
            for thread in threads {
                #expect(try thread.value()?.allSatisfy(\.isClosed) == true)
            }
        }
    }

    @Test func `the version has three numbers`() {
        #expect(Manager.version.split(separator: ".").compactMap { Int($0) }.count == 3)
    }
}
