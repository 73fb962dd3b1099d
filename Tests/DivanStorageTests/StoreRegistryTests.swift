// SPDX-License-Identifier: Apache-2.0

@testable import DivanStorage
import Testing

@Suite struct StoreRegistryTests {
    @Test func `a name keeps its handle, and a handle its name`() {
        let registry = StoreRegistry()
        let documents = registry.store(StoreName("documents", .bytes))
        let revisions = registry.store(StoreName("revisions", .integer))
        #expect(registry.store(StoreName("documents", .bytes)) == documents)
        #expect(documents != revisions)
        #expect(registry.name(of: revisions) == StoreName("revisions", .integer))
    }

    @Test(arguments: ["", "a b", "a\"b", "ä", "a;b", String(repeating: "a", count: 101)])
    func `unfit names`(_ name: String) {
        #expect(!StoreName.isValid(name))
    }

    @Test(arguments: ["a", "index/12/rows", "largeBodies", "a-b_c.d", "1"])
    func `fit names`(_ name: String) {
        #expect(StoreName.isValid(name))
    }

    @Test func `names that differ by case only stop the program`() async {
        await #expect(processExitsWith: .failure) {
            let registry = StoreRegistry()
            _ = registry.store(StoreName("rows", .bytes))
            _ = registry.store(StoreName("Rows", .bytes))
        }
    }
}
