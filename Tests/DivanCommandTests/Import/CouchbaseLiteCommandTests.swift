// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// `divan import` of a whole Couchbase Lite database, as a child process.
@Suite struct CouchbaseLiteCommandTests {
    private static let sample = "fixtures/cbl14-sample/shop.cblite2.tar.gz"
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    /// Unpacks the database that Couchbase Lite has made.
    private func unpack() throws {
        let bytes = try #require(SharedFolder.bytes(of: Self.sample))
        try Data(bytes).write(to: URL(fileURLWithPath: tool.path("shop.tar.gz")))
        let status = system("tar -xzf '\(tool.path("shop.tar.gz"))' -C '\(tool.path("."))'")
        try #require(status == 0)
    }

    @Test(.enabled(if: Machine.hasShared(sample), "It needs ../shared/fixtures."))
    func `import makes a database out of one of Couchbase Lite's`() throws {
        try unpack()
        let result = try tool.run("import", "shop.cblite2/")
        #expect(result.status == 0)
        #expect(result.out.isEmpty)
        #expect(result.err.hasPrefix("Imported 210 documents, "))
        #expect(result.err.hasSuffix("4 attachments, 1 checkpoint into shop.divan.\n"))
        #expect(
            try tool.run("get", "shop", "multi").out.contains("ded71420cad979aefc6a251867d3cd62"))
        #expect(try tool.run("verify", "shop").status == 0)
        #expect(try tool.run("import", "shop.cblite2").status == 4)
        let other = try tool.run("import", "other", "shop.cblite2", "--quiet")
        #expect((other.status, other.err) == (0, ""))
        #expect(try tool.run("cat", "other").out == (try tool.run("cat", "shop").out))
    }

    @Test func `import refuses what is no such database`() throws {
        #expect(try tool.run("import", "none.cblite2").status == 3)
        #expect(try tool.run("import", "none.cblite2", "--update").status == 2)
    }

    @Test(.enabled(if: Machine.hasShared(sample), "It needs ../shared/fixtures."))
    func `import refuses a name that no database may have`() throws {
        try unpack()
        #expect(try tool.run("import", "Bad Name", "shop.cblite2").status == 6)
    }
}
