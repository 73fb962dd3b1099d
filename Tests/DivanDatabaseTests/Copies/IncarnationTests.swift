// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// A copy of a directory is another life of the database, and is known as such from then on.
@Suite struct IncarnationTests {
    private let sandbox = Sandbox()

    @Test func `an incarnation lasts from opening to opening`() throws {
        let database = try sandbox.database()
        let incarnation = database.incarnation
        #expect(UUID(uuidString: incarnation) != nil)
        #expect(![database.publicUUID, database.privateUUID].contains(incarnation))
        try database.replaceUUIDs()
        #expect(database.incarnation == incarnation)
        database.close()
        #expect(database.incarnation == incarnation)
        #expect(try sandbox.database().incarnation == incarnation)
        #expect(try sandbox.database { $0.readOnly = true }.incarnation == incarnation)
        #expect(try sandbox.database("other").incarnation != incarnation)
    }

    @Test func `a copied directory begins a new life at its first opening, with the same UUIDs`()
        throws
    {
        let original = try sandbox.database()
        try original.create("a", ["n": 1])
        let (incarnation, uuid) = (original.incarnation, original.publicUUID)
        original.close()
        try copyAll("db", to: "copy")
        let copy = try sandbox.database("copy")
        let second = copy.incarnation
        #expect(second != incarnation)
        #expect(copy.publicUUID == uuid)
        try copy.update("a") { $0["n"] = 2 }
        copy.close()
        #expect(try sandbox.database("copy").incarnation == second)
        let again = try sandbox.database()
        #expect(again.incarnation == incarnation)
        #expect(try again.existing("a")["n"].int == 1)
        #expect(try again.problems() == [])
        #expect(try sandbox.database("copy").problems() == [])
    }

    @Test func `data copied over a database's own begin a new life too`() throws {
        let database = try sandbox.database()
        let incarnation = database.incarnation
        database.close()
        try copyAll("db", to: "saved")
        try FileManager.default.removeItem(at: sandbox.url().appending(path: "data-1"))
        try FileManager.default.copyItem(
            at: sandbox.url("saved").appending(path: "data-1"),
            to: sandbox.url().appending(path: "data-1"))
        #expect(try sandbox.database().incarnation != incarnation)
    }

    @Test func `a directory that is moved within its file system lives on`() throws {
        let database = try sandbox.database()
        let incarnation = database.incarnation
        database.close()
        try FileManager.default.moveItem(at: sandbox.url(), to: sandbox.url("moved"))
        #expect(try sandbox.database("moved").incarnation == incarnation)
    }

    @Test func `a copy that is only read has an incarnation of its own at each opening`() throws {
        let database = try sandbox.database()
        let incarnation = database.incarnation
        database.close()
        try copyAll("db", to: "copy")
        let before = try Data(contentsOf: sandbox.url("copy").appending(path: "manifest"))
        var met: Set<String> = [incarnation]
        for _ in 0..<2 {
            let copy = try sandbox.database("copy") { $0.readOnly = true }
            met.insert(copy.incarnation)
            met.insert(copy.incarnation)
            copy.close()
        }
        #expect(met.count == 3)
        #expect(try Data(contentsOf: sandbox.url("copy").appending(path: "manifest")) == before)
    }

    @Test func `processes that open a copy at the same time agree on its new life`() async throws {
        let database = try sandbox.database()
        let old = database.incarnation
        database.close()
        try copyAll("db", to: "copy")
        try await offPool { [sandbox] in
            let path = sandbox.url("copy").path(percentEncoded: false)
            let children = try (0..<4).map { _ in try TestChild("serve", path) }
            for child in children { #expect(child.readLine() == "ready") }
            let met = try children.map { try $0.ask("identity") }
            #expect(Set(met).count == 1)
            #expect(met.first??.hasSuffix(old) == false)
            for child in children { #expect(child.finish() == 0) }
        }
    }

    @Test func `UUIDs that several processes replace are the same for all afterwards`()
        async throws
    {
        try await offPool { [sandbox] in
            let database = try sandbox.database()
            let old = database.publicUUID
            let children = try (0..<3).map { _ in try TestChild("serve", database.path) }
            for child in children { #expect(child.readLine() == "ready") }
            for _ in 0..<20 {
                for child in children { try child.say("renew") }
                let threads = (0..<2).map { _ in Running { try database.replaceUUIDs() } }
                for thread in threads { try thread.value() }
                for child in children { #expect(child.readLine() == "renewed") }
                let now = "\(database.publicUUID) \(database.incarnation)"
                for child in children { #expect(try child.ask("identity") == now) }
            }
            #expect(database.publicUUID != old)
            for child in children { #expect(child.finish() == 0) }
            let names = try FileManager.default.contentsOfDirectory(atPath: database.path)
            #expect(names.sorted() == ["changes", "data-1", "lock", "manifest"])
        }
    }

    /// Copies a directory as `cp -a` does.
    private func copyAll(_ name: String, to other: String) throws {
        try FileManager.default.copyItem(at: sandbox.url(name), to: sandbox.url(other))
    }
}
