// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct DatabaseNameTests {
    static let valid = [
        "a", "z9", "abc_$()+-/", "a/b/c", "a--", String(repeating: "a", count: 239),
    ]
    static let invalid = [
        "", "A", "aB", "1a", "_a", "/a", "a b", "a.b", "a:b", "a\u{E9}", "\u{1F6CB}", "a\n",
        "a\u{0}", "a%", "a*", "..", "../a", String(repeating: "a", count: 240),
    ]

    @Test(arguments: valid) func `a name of these kinds is valid`(name: String) {
        #expect(Manager.isValidDatabaseName(name))
    }

    @Test(arguments: valid) func `a database of such a name is created and listed`(
        name: String
    ) throws {
        let manager = try Sandbox().manager()
        try manager.database(named: name).create("a")
        #expect(try manager.allDatabaseNames() == [name])
        #expect(manager.databaseExists(named: name))
        try manager.deleteDatabase(named: name)
        #expect(try manager.allDatabaseNames() == [])
        manager.close()
    }

    @Test(arguments: invalid) func `a name of these kinds is refused`(name: String) throws {
        let sandbox = Sandbox()
        let manager = try sandbox.manager()
        #expect(!Manager.isValidDatabaseName(name))
        #expect(code { try manager.database(named: name) } == .invalidName)
        #expect(try manager.existingDatabase(named: name) == nil)
        #expect(!manager.databaseExists(named: name))
        #expect(try sandbox.contents().isEmpty)
    }
}
