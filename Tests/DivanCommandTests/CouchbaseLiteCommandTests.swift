// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// `divan import` of a whole Couchbase Lite database, as a child process.
@Suite struct CouchbaseLiteCommandTests {
    private let tool: TestTool
    private let isThere: Bool

    init() throws {
        tool = try TestTool()
        let name = "fixtures/cbl14-sample/shop.cblite2.tar.gz"
        guard let bytes = SharedFolder.bytes(of: name) else {
            isThere = false
            return
        }
        try Data(bytes).write(to: URL(fileURLWithPath: tool.path("shop.tar.gz")))
        isThere = system("tar -xzf '\(tool.path("shop.tar.gz"))' -C '\(tool.path("."))'") == 0
    }

    @Test func `import makes a database out of one of Couchbase Lite's`() throws {
        guard isThere else { return }
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
        guard isThere else { return }
        #expect(try tool.run("import", "Bad Name", "shop.cblite2").status == 6)
    }
}
