// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// `divan backup --keep`.
@Suite struct BackupSeriesTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("import", "data/a", "--create", input: #"{"_id":"x"}"#)
        try tool.run("import", "data/b", "--create", input: #"{"_id":"y"}"#)
        try tool.run(
            "users", "data", "--add", "ann", environment: ["DIVAN_PASSWORD": "secret"])
    }

    private func names(_ folder: String = "saved") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: tool.path(folder)).sorted()
    }

    private var backups: [String] { get throws { try names().filter(BackupSeries.isTime) } }

    @Test func `of each database in a folder the newest backups stay`() throws {
        for round in 0..<3 {
            for database in ["data/a", "data/b"] {
                let result = try tool.run("backup", database, "saved", "--keep", "1")
                #expect(result.status == 0, "\(result.err)")
                #expect(result.err.contains("; 1 old backup went") == (round >= 1))
            }
            let kept = try backups.map { try names("saved/\($0)") }
            #expect(kept.map(\.count) == [1, 1])
            #expect(kept.flatMap { $0 } == ["a.divan", "b.divan"])
        }
        // A file is no backup, whatever its name.
        try tool.write("mine", to: "saved/2020-01-01T000000Z")
        // One of both makes the others superfluous, and one of one not that of both.
        try tool.run("backup", "data", "saved", "--keep", "1")
        #expect(try backups.count == 1 + 1)
        try tool.run("backup", "data/a", "saved", "--keep", "1")
        #expect(try backups.count == 2 + 1)
        #expect(try tool.read("saved/2020-01-01T000000Z") == "mine")
    }

    @Test func `a command that takes a series for a database is told how to name one`() throws {
        try tool.run("backup", "data", "saved", "--keep", "1")
        let newest = try #require(try backups.last)
        for source in ["data/a", "data"] {
            let backup = try tool.run("backup", source, "saved")
            #expect(backup.status == 4)
            #expect(
                backup.err.contains("a series of backups at saved. --keep COUNT adds one to it."))
        }
        for words in [
            ["install", "saved", "new"], ["info", "saved"], ["salvage", "saved", "new"],
        ] {
            let refused = try tool.start(words).wait()
            #expect(refused.status == 3)
            #expect(
                refused.err.contains(
                    "There is no database at saved. One in it is saved/\(newest)/a.divan."))
        }
        let none = try tool.run("install", "nowhere", "new")
        #expect(none.err == "divan: There is no database at nowhere. Check the path.\n")
        #expect(try tool.run("install", "data", "new").err.contains("One in it is data/a.divan."))
    }

    @Test func `a directory is backed up whole while it is served, and the oldest backups go`()
        throws
    {
        let server = try tool.start(["serve", "data", "--port", "0"])
        let address = try #require(server.address())
        for round in 0..<4 {
            let result = try tool.run("backup", "data", "saved", "--keep", "2", "--verify")
            #expect(result.status == 0, "\(result.err)")
            #expect(result.err.hasPrefix("Backed up 2 databases, "))
            #expect(result.err.contains("; 1 old backup went") == (round >= 2))
        }
        #expect(WireClient(port: address.port).send("GET", "/_up") == 200)
        server.interrupt()
        #expect(try server.wait().status == 0)
        let kept = try backups
        #expect(kept.count == 2)
        let newest = "saved/\(try #require(kept.last))"
        #expect(try Set(names(newest)).isSuperset(of: ["a.divan", "b.divan", "listener.json"]))
        #expect(try tool.run("users", newest).lines == ["ann"])
        #expect(try tool.run("get", newest + "/b", "y").status == 0)
        let attributes = try FileManager.default.attributesOfItem(
            atPath: tool.path(newest + "/listener.json"))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        for folder in ["saved", newest] {
            let attributes = try FileManager.default.attributesOfItem(atPath: tool.path(folder))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        }
        // The drill: what is restored is served.
        let restored = try tool.start(["serve", newest, "--port", "0", "--everybody"])
        let port = try #require(restored.address()).port
        #expect(WireClient(port: port).send("GET", "/a/x") == 200)
        restored.interrupt()
        #expect(try restored.wait().status == 0)
    }

    @Test func `a backup that fails leaves the earlier ones, and nothing of itself`() throws {
        #expect(try tool.run("backup", "data", "saved", "--keep", "1").status == 0)
        let before = try names()
        try tool.write("garbage", to: "data/b.divan/manifest")
        let failed = try tool.run("backup", "data", "saved", "--keep", "1")
        #expect(failed.status != 0)
        #expect(try names() == before)
        for (words, status) in [
            (["data", "saved", "--keep", "0"], ExitCode.usage),
            (["none", "saved", "--keep", "1"], .notFound),
            // Of a server that has no database yet, users and settings are kept.
            (["saved", "other", "--keep", "1"], .success),
        ] {
            let child = try tool.start(["backup"] + words)
            #expect(try child.wait().status == status.rawValue)
        }
    }

    @Test(arguments: ["all are gone", "a mount point", "a link to nothing"])
    func `no backup goes for one that lacks databases`(_ fault: String) throws {
        for _ in 0..<2 {
            #expect(try tool.run("backup", "data", "saved", "--keep", "2").status == 0)
        }
        let before = try backups
        let files = FileManager.default
        for name in fault == "all are gone" ? ["a", "b"] : ["b"] {
            try files.moveItem(
                atPath: tool.path("data/\(name).divan"), toPath: tool.path("\(name).away"))
        }
        if fault == "a mount point" {
            try files.createDirectory(
                atPath: tool.path("data/b.divan"), withIntermediateDirectories: true)
        } else if fault == "a link to nothing" {
            try files.createSymbolicLink(
                atPath: tool.path("data/b.divan"), withDestinationPath: "nothing")
        }
        let failed = try tool.run("backup", "data", "saved", "--keep", "2")
        #expect(failed.status == ExitCode.notFound.rawValue)
        #expect(failed.err.contains("There is no database in "))
        #expect(try backups == before)
    }

    @Test func `one database is backed up alone, and nothing else in the folder is touched`() throws
    {
        try FileManager.default.createDirectory(
            atPath: tool.path("saved/mine"), withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: tool.path("saved/2026-01-01T000000Z.part/old"),
            withIntermediateDirectories: true)
        try tool.write("", to: "saved/2026-01-01T000000Z.txt")
        let result = try tool.run("backup", "data/a", "saved", "--keep", "3")
        #expect(result.status == 0, "\(result.err)")
        let made = try #require(try backups.first)
        #expect(try names("saved/\(made)") == ["a.divan"])
        #expect(try names() == [".lock", "2026-01-01T000000Z.txt", made, "mine"].sorted())
    }

    @Test func `a clock that was set back makes later names all the same, within the day`() throws {
        let now = Int64(Date().timeIntervalSince1970)
        // Not in the next day, for which the clock would have to be set.
        let ahead = try #require(BackupSeries.name(ofTime: now % 86_400 < 86_397 ? now + 3 : now))
        let tomorrow = try #require(
            BackupSeries.name(ofTime: Int64(Date().timeIntervalSince1970) + 2 * 86_400))
        try FileManager.default.createDirectory(
            atPath: tool.path("saved/" + ahead), withIntermediateDirectories: true)
        #expect(try tool.run("backup", "data/a", "saved", "--keep", "5").status == 0)
        let made = try backups
        #expect(made.count == 2 && made[0] == ahead)
        try FileManager.default.createDirectory(
            atPath: tool.path("saved/" + tomorrow), withIntermediateDirectories: true)
        let refused = try tool.run("backup", "data/a", "saved", "--keep", "1")
        #expect(refused.status == 1)
        #expect(refused.err.contains("from a later day than the clock shows"))
        #expect(try backups.count == 3)
    }

    @Test func `names of times are told from others`() {
        #expect(BackupSeries.name(ofTime: 0) == "1970-01-01T000000Z")
        #expect(BackupSeries.isTime("2026-11-27T020000Z"))
        for other in ["2026-11-27T02000Z", "2026-11-27T020000Z.part", "2026-11-27t020000Z", ""] {
            #expect(!BackupSeries.isTime(other))
        }
    }

    @Test func `a copy can be verified where no series is wanted`() throws {
        let result = try tool.run("backup", "data/a", "single.divan", "--verify")
        #expect(result.status == 0)
        #expect(result.err.hasPrefix("Backed up 1 document, "))
    }
}
