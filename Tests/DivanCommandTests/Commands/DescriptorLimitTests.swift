// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// A listener whose process may have few descriptors.
@Suite(
    .serialized,
    .enabled(
        if: Machine.has("/usr/bin/prlimit") && Machine.has("/proc/self/fd"), "It needs prlimit.")
)
struct DescriptorLimitTests {
    @Test func `connections give way while there are descriptors left for databases`() throws {
        let most = 256
        let served = try ServedDatabase(descriptors: most)
        let silent = (0..<400).compactMap { _ in served.client.open() }
        defer { for descriptor in silent { close(descriptor) } }
        #expect(silent.count == 400)
        for number in 0..<4 {
            let start = ContinuousClock.now
            #expect(served.client.send("PUT", "/d\(number)", [served.root]) == 201)
            #expect(
                served.client.send("PUT", "/d\(number)/a", [served.root], Array("{}".utf8)) == 201)
            // The oldest silent connection gives way at once, and not when its time is over.
            #expect(start.duration(to: .now) < .seconds(5))
            #expect(served.isAlive)
        }
        #expect((most / 2..<most).contains(served.descriptors), "\(served.descriptors)")
    }

    /// Runs a command whose process may have few descriptors.
    private func run(_ tool: TestTool, _ descriptors: Int, _ words: [String]) throws
        -> TestTool.Result
    {
        try tool.start(words, under: ["/usr/bin/prlimit", "--nofile=\(descriptors)"]).wait()
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func `too few descriptors are never told as damage or loss`(_ engine: String) throws {
        let tool = try TestTool()
        try tool.write(String(repeating: "0f", count: 32), to: "key")
        // Without a key, too: LMDB cannot encrypt.
        let key = engine == "sqlite" ? ["--encryption-key", "file:key"] : []
        _ = try tool.start(["create", "db", "--engine", engine] + key).wait()
        for number in 0..<4 {
            try tool.write("content \(number)", to: "file\(number)")
            _ = try tool.start(["put", "db", "d\(number)", "{}"] + key).wait()
            let words = ["attach", "db", "d\(number)", "file\(number)"]
            #expect(try tool.start(words + key).wait().status == 0)
        }
        for descriptors in 8..<26 {
            let copy = "saved\(descriptors).divan"
            for words in [
                ["verify", "db"], ["install", "db", "copy\(descriptors)"],
                ["salvage", "db", copy],
            ] {
                let result = try run(tool, descriptors, words + key)
                #expect(
                    ![5, 8].contains(result.status),
                    "\(descriptors) \(words): \(result.status) \(result.err)\(result.out)")
                #expect(!result.err.contains("needs permission"), "\(descriptors) \(result.err)")
            }
        }
    }

    @Test func `silent connections give way to the files of databases`() throws {
        let served = try ServedDatabase(descriptors: 256)
        let silent = (0..<400).compactMap { _ in served.client.open() }
        defer { for descriptor in silent { close(descriptor) } }
        // Each has seven files open from then on, which is more than was left beside the connections.
        for number in 0..<20 {
            #expect(served.client.send("PUT", "/d\(number)", [served.root]) == 201)
        }
        #expect(served.isAlive)
        // More than there can be get an answer that says so, and those that were there are served.
        let statuses = (20..<60).map { served.client.send("PUT", "/d\($0)", [served.root]) }
        #expect(statuses.allSatisfy { $0 == 201 || $0 == 503 }, "\(statuses)")
        #expect(statuses.last == 503)
        #expect(served.isAlive)
    }

    @Test func `connections give way while files have the descriptors that they might have`() throws
    {
        let most = 256
        let served = try ServedDatabase(descriptors: most)
        let before = served.descriptors
        // Bodies on their way: each has a connection, and all that find no room in memory have a file.
        let body = [UInt8](repeating: 7, count: 100_000)
        let uploads = (0..<80).compactMap { number in
            let descriptor = served.client.open()
            let head = [
                "PUT /db/u\(number)/file HTTP/1.1", "Host: localhost", served.root,
                "Content-Type: text/plain", "Content-Length: \(body.count * 2)",
            ]
            let bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
            if let descriptor { served.client.write(bytes, to: descriptor) }
            return descriptor
        }
        defer { for descriptor in uploads { close(descriptor) } }
        eventually { served.descriptors - before > 130 }
        let silent = (0..<400).compactMap { _ in served.client.open() }
        defer { for descriptor in silent { close(descriptor) } }
        #expect(silent.count == 400)
        for number in 0..<4 {
            let start = ContinuousClock.now
            #expect(served.client.send("PUT", "/d\(number)", [served.root]) == 201)
            #expect(start.duration(to: .now) < .seconds(5))
            #expect(served.isAlive)
        }
        #expect(served.descriptors < most)
    }
}
