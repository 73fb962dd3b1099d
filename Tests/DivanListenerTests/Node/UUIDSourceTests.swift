// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// The IDs of `_uuids`, as they are configured.
@Suite struct UUIDSourceTests {
    private let site: TestSite

    init() throws { site = try TestSite() }

    private func ids(_ algorithm: String) -> [String] {
        site.send(
            "PUT", "/_node/_local/_config/uuids/algorithm", JSONValue.string(algorithm).description)
        return site.send("GET", "/_uuids?count=100").json["uuids"]?.array?.compactMap(\.string)
            ?? []
    }

    @Test func `each algorithm gives as many IDs as are asked for, and none twice`() {
        for algorithm in ["random", "sequential", "utc_random", "other"] {
            let ids = ids(algorithm)
            #expect(Set(ids).count == 100, "\(algorithm)")
            #expect(ids.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) })
        }
    }

    @Test func `sequential IDs have one beginning and grow, until a new one is needed`() {
        let ids = ids("sequential")
        #expect(ids == ids.sorted())
        #expect(Set(ids.map { $0.prefix(26) }).count == 1)
        let source = UUIDSource()
        let many = (0..<20_000).map { _ in source.next(.sequential) }
        #expect(Set(many).count == many.count)
        #expect(Set(many.map { $0.prefix(26) }).count > 1)
    }

    @Test func `IDs of the time begin with it, and end in the text that is configured`() {
        site.send("PUT", "/_node/_local/_config/uuids/utc_id_suffix", "\"-a\"")
        let ids = ids("utc_id")
        #expect(ids.allSatisfy { $0.utf8.count == 16 && $0.hasSuffix("-a") })
        #expect(ids == ids.sorted())
        let source = UUIDSource()
        #expect(source.next(.timeAndText("x"), now: 1) == "00000000000001x")
        // A clock that stands still, or is set back, gives no ID twice.
        #expect(source.next(.timeAndText("x"), now: 1) == "00000000000002x")
        #expect(source.next(.timeAndText("x"), now: 0) == "00000000000003x")
    }

    @Test func `unless set otherwise IDs grow, and no answer is kept by a cache`() {
        let answer = site.send("GET", "/_uuids?count=2")
        let ids = answer.json["uuids"]?.array?.compactMap(\.string) ?? []
        #expect(ids.count == 2 && ids[0] < ids[1] && ids[0].prefix(26) == ids[1].prefix(26))
        #expect(answer.headers["ETag"] == "\"\(ids[0])\"")
        #expect(site.send("GET", "/_uuids?count=1001").status == 400)
    }
}
