// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// The record of processes that died soon after replications had started in them.
@Suite(.timeLimit(.minutes(10))) struct EarlyDeathTests {
    private let folder: TestSite

    init() throws { folder = try TestSite() }

    private var directory: String { folder.folder.path }
    private var path: String { directory + "/replicator-starts" }
    private var isRecorded: Bool { FileManager.default.fileExists(atPath: path) }

    private func deaths(machineRun: String = "this") -> EarlyDeaths {
        EarlyDeaths(directory: directory, machineRun: machineRun)
    }

    /// What a process that has died leaves: no process has this number.
    private func leave(_ starts: String, process: String = "999999999", machine: String = "this")
        throws
    {
        let text = #"{"starts":\#(starts),"process":\#(process),"machine":"\#(machine)"}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test func `deaths are counted one by one, and three are enough`() throws {
        #expect(deaths().count == 0)
        for count in 1...3 {
            try leave("\(count)")
            #expect(deaths().count == count)
            #expect(deaths().isPausing == (count == 3))
        }
    }

    @Test
    func `a start is on the disk before anything else happens, and goes when nothing has happened`()
        throws
    {
        let deaths = deaths()
        deaths.noteStart()
        let record = try JSONParser.parse(String(contentsOfFile: path, encoding: .utf8))
        #expect(record["starts"] == 1 && record["machine"] == "this")
        // Another start makes the minute begin anew.
        deaths.noteStart()
        deaths.endTrial(ofStart: 1)
        #expect(isRecorded)
        deaths.endTrial(ofStart: 2)
        #expect(!isRecorded)
        deaths.noteStart()
        #expect(isRecorded)
        deaths.forget()
        #expect(!isRecorded)
    }

    @Test func `a stop in order begins the count anew, also where all was paused`() throws {
        try leave("3")
        let paused = deaths()
        #expect(paused.isPausing)
        paused.forget()
        #expect(!isRecorded && !deaths().isPausing)
    }

    @Test func `the end of the machine and a process that lives are no deaths`() throws {
        try leave("3", machine: "another")
        #expect(deaths().count == 0)
        try leave("3", process: "\(getppid())")
        #expect(deaths().count == 2)
        // As in a container, where each process has the same number.
        try leave("2", process: "\(getpid())")
        #expect(deaths().count == 2)
        let living = deaths()
        living.noteStart()
        #expect(deaths().count == 2)
        living.forget()
    }

    @Test(arguments: [
        "-1", "9223372036854775807", "-9223372036854775808", "1e300", "null", "\"x\"", "[",
    ])
    func `a record that makes no sense does no harm`(number: String) throws {
        try leave(number, process: number)
        #expect((0...3).contains(deaths().count))
        try leave("2", process: number)
        #expect([0, 2].contains(deaths().count))
    }

    // MARK: - In a listener

    private func document(_ site: TestSite) -> JSONValue {
        site.send("GET", "/_scheduler/docs/_replicator/job").json
    }

    @Test func `after three deaths replications begin paused, and an edit starts one`() async throws
    {
        let other = TestSite.newFolder()
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        do {
            let manager = try Manager(directory: other)
            defer { manager.close() }
            let jobs = try manager.database(named: "_replicator")
            _ = try manager.database(named: "source")
            for id: DocumentID in ["job", "other"] {
                try jobs.save(
                    MutableDocument(
                        [
                            "source": "source", "target": .string(id.text), "create_target": true,
                            "continuous": true,
                        ],
                        id: id))
            }
        }
        let boot = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            .filter { $0 != "\n" }
        let text = #"{"starts":3,"process":999999999,"machine":"\#(boot)"}"#
        try Data(text.utf8).write(to: other.appendingPathComponent("replicator-starts"))
        let site = try TestSite(folder: other)
        site.router.site.begin(host: "127.0.0.1", port: 1)
        defer { site.router.site.end() }
        await eventually { document(site)["state"] == "crashing" }
        let told = document(site)
        #expect(told["info"]?["error"]?.string?.contains("edit this document to start it") ?? false)
        #expect(told["source"] == "source" || told["source"]?.string?.contains("source") ?? false)
        let listed = site.send("GET", "/_scheduler/jobs").json
        #expect(listed["total_rows"] == 2)
        #expect(listed["jobs"]?[0]?["history"]?[0]?["type"] == "crashed")
        #expect(!site.manager.databaseExists(named: "job"))
        // An edit is a wish to start it; the other one stays as it is.
        var body = site.send("GET", "/_replicator/job").json
        body["note"] = "again"
        #expect(site.send("PUT", "/_replicator/job", body.description).status == 201)
        await eventually {
            document(site)["state"] == "running" && site.manager.databaseExists(named: "job")
        }
        #expect(site.send("GET", "/_scheduler/docs/_replicator/other").json["state"] == "crashing")
        #expect(!site.manager.databaseExists(named: "other"))
    }
}
