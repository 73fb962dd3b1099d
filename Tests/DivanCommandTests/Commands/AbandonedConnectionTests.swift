// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Foundation
import Testing

/// Connections that break off in thousands, in each phase of a request, leave nothing behind.
@Suite(.serialized) struct AbandonedConnectionTests {
    @Test(.enabled(if: Machine.has("/proc/self/fd"), "It needs /proc."))
    func `connections that break off leave no memory, no thread, no descriptor and no file`()
        throws
    {
        let served = try ServedDatabase()
        let long = Array(#"{"a":"\#(String(repeating: "x", count: 900_000))"}"#.utf8)
        for number in 0..<8 {
            #expect(served.client.send("PUT", "/db/long\(number)", [served.ann], long) == 201)
        }
        let bulk = Array(
            #"{"docs":[\#(Array(repeating: "{}", count: 20_000).joined(separator: ","))]}"#.utf8)
        let packed = try #require(GzipCoding.encode(bulk))
        let json = "Content-Type: application/json"
        let phases: [WireClient.Abandoned] = [
            // In the head, in a short body, in one that lies in a file, behind one that is being worked on.
            .init("PUT", "/db/a", [served.ann], [], sends: 20),
            .init("PUT", "/db/a", [served.ann], long, sends: 100_000),
            .init("PUT", "/db/a/b", [served.ann], long, says: 40 << 20, sends: 900_000),
            .init("POST", "/db/_bulk_docs?x=1", [json, "Content-Encoding: gzip"], packed),
            .init(
                "POST", "/db/_find", [served.ann, json], Array(#"{"selector":{},"limit":99}"#.utf8)),
            // While an answer is sent: a document, a list, a feed.
            .init("GET", "/db/long1", [served.ann], reads: 1),
            .init("GET", "/db/_all_docs?include_docs=true", [served.ann], reads: 1),
            .init("GET", "/db/_changes?feed=continuous&include_docs=true", [served.ann], reads: 1),
            // Of another name than the good client's: wrong passwords lock a name from the network that sends them.
            .init("POST", "/_session", [json], Array(#"{"name":"eve","password":"x"}"#.utf8)),
        ]
        // What is made once for all requests, such as threads and caches, is there afterwards.
        func abandon(_ rounds: Int) {
            DispatchQueue.concurrentPerform(iterations: 4) { [client = served.client] lane in
                for round in 0..<(rounds / 4) {
                    client.abandon(phases[(round + lane) % phases.count])
                }
            }
        }
        func isQuiet(_ descriptors: Int) -> Bool {
            served.descriptors <= descriptors && served.spooledBytes < 1 << 20
        }
        let atRest = served.descriptors
        abandon(400)
        #expect(eventually { isQuiet(atRest + 16) }, "\(served.descriptors) after \(atRest)")
        let descriptors = served.descriptors
        let (memory, threads) = (try served.megabytes("VmRSS"), try served.status("Threads"))
        abandon(Soak.isOn ? 40_000 : 2_000)
        #expect(
            eventually { isQuiet(descriptors + 4) }, "\(served.descriptors) after \(descriptors)")
        #expect(served.isAlive)
        // Threads without work end by themselves.
        #expect(try eventually { try served.status("Threads") <= threads + 8 })
        let grown = try served.megabytes("VmRSS") - memory
        #expect(grown <= 40, "\(grown) MB more than \(memory)")
        let left = try FileManager.default.contentsOfDirectory(atPath: served.tool.path("spool"))
        #expect(left.isEmpty, "\(left)")
    }
}
