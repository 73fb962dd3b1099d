// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// The memory of a server that is sent the worst JSON on every route: it stays within the budget that it was given.
@Suite(.serialized) struct RequestMemoryTests {
    /// The worst texts, of about so many bytes.
    enum Worst: CaseIterable {
        case objects, numbers, members, nested, string, twins, broken

        func body(_ size: Int) -> [UInt8] {
            switch self {
            case .objects: list("{},", size)
            case .numbers: list("1,", size)
            case .broken: Array(list("[1],", size).dropLast(size / 9))
            case .members:
                Array("{".utf8) + (0..<(size / 12)).flatMap { Array(#""k\#($0)":[],"#.utf8) }
                    + Array(#""z":1}"#.utf8)
            case .nested: Array(repeating: UInt8(ascii: "["), count: size)
            case .string:
                Array(#"{"name":""#.utf8) + Array(repeating: UInt8(ascii: "x"), count: size)
                    + Array(#""}"#.utf8)
            case .twins:
                Array("{".utf8) + Self.repeated(#""a":1,"#, size) + Array(#""a":1}"#.utf8)
            }
        }

        /// A list under each name that a route looks for one.
        private func list(_ element: String, _ size: Int) -> [UInt8] {
            let last = element.dropLast()
            let list = Self.repeated(element, size / 4) + Array("\(last)]".utf8)
            var body = Array(#"{"name":"a","password":"b""#.utf8)
            for name in ["docs", "keys", "queries"] { body += Array(",\"\(name)\":[".utf8) + list }
            return body + Array(#","selector":{"a":{"$in":["#.utf8) + list + Array("}}}".utf8)
        }

        private static func repeated(_ text: String, _ size: Int) -> [UInt8] {
            let bytes = Array(text.utf8)
            var all: [UInt8] = []
            all.reserveCapacity(size + bytes.count)
            while all.count < size { all += bytes }
            return all
        }
    }

    private static func target(_ pattern: String) -> String {
        pattern.split(separator: "/").reduce("") { path, word in
            path + "/" + (word == "{db}" ? "db" : word.hasPrefix("{") ? "x" : String(word))
        }
    }

    @Test(.enabled(if: Machine.has("/proc/self/status"), "It needs /proc."))
    func `the worst JSON on every route is refused or answered within the budget`() throws {
        let served = try ServedDatabase()
        let before = try served.megabytes("VmRSS")
        // Of some sizes everything is refused, and of some it is parsed.
        let sizes =
            Soak.isOn ? [64 << 20, 8 << 20, 1 << 20, 96 << 10] : [512 << 10, 96 << 10, 24 << 10]
        let texts = try sizes.map { size in
            try Worst.allCases.map { kind in
                let plain = kind.body(size)
                return (kind: kind, plain: plain, gzip: try #require(GzipCoding.encode(plain)))
            }
        }
        var turn = 0
        for route in Router.table where ["POST", "PUT"].contains(route.method) {
            for texts in texts {
                for _ in 0..<(Soak.isOn ? 4 * texts.count : 1) {
                    let (kind, plain, gzip) = texts[turn % texts.count]
                    let isPacked = turn / texts.count % 2 == 0
                    let caller = [served.root, served.ann, served.root, served.ann, nil][turn % 5]
                    turn += 1
                    var headers = caller.map { [$0] } ?? []
                    if isPacked { headers.append("Content-Encoding: gzip") }
                    headers.append("Content-Type: application/json")
                    let body = isPacked ? gzip : plain
                    let status = served.client.send(
                        route.method, Self.target(route.pattern), headers, body)
                    // A stranger's long body is broken off, perhaps before the answer can be read.
                    let what =
                        "\(route.method) \(route.pattern) \(kind) \(isPacked) \(caller ?? "")"
                    #expect(
                        status.map { $0 < 500 || [501, 503].contains($0) } ?? (caller == nil),
                        "\(what): \(status ?? 0)")
                    try #require(served.isAlive, "\(what)")
                }
            }
        }
        // 100 MB is the stated base; a debug build's code is part of what was there before.
        let peak = try served.megabytes("VmHWM")
        #expect(peak - before <= ServedDatabase.budget + 100, "\(peak) MB after \(before) MB")
    }

    @Test
    func `long bodies at once wait for memory, and the process lives with no more than was stated`()
        throws
    {
        let served = try ServedDatabase()
        let limit = try served.megabytes("VmSize") + ServedDatabase.budget + 100
        let bound = try ChildProcess(
            "prlimit", ["--pid", "\(served.child.process.identifier)", "--as=\(limit << 20)"])
        #expect(bound.wait() == 0)
        let count = Soak.isOn ? 60_000 : 4_000
        let document = #"{"a":"\#((0..<60).map { "z\($0 * 7_919)" }.joined())"}"#
        let body = Array(
            #"{"docs":[\#(Array(repeating: document, count: count).joined(separator: ","))]}"#.utf8)
        let packed = try #require(GzipCoding.encode(body))
        let headers = [
            served.root, "Content-Type: application/json", "Content-Encoding: gzip",
        ]
        DispatchQueue.concurrentPerform(iterations: 8) { [client = served.client] _ in
            let status = client.send("POST", "/db/_bulk_docs", headers, packed)
            #expect([201, 413, 503].contains(status ?? 0), "\(status ?? 0)")
        }
        #expect(served.isAlive)
        #expect(
            served.client.send("PUT", "/db/after", [served.root], Array("{}".utf8)) == 201)
    }
}
