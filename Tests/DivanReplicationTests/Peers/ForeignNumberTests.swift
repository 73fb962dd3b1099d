// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanReplication

/// A server that says one number wherever its answers have one.
private final class NumberServer: WireConnection {
    /// Where it says it; elsewhere stands what is usual.
    let place: String
    let number: String
    let name = "http://numbers/db"
    let requests = Mutex<[String]>([])

    init(_ place: String, _ number: String) { (self.place, self.number) = (place, number) }

    private func at(_ place: String, or usual: String) -> String {
        place == self.place ? number : usual
    }

    private var document: String {
        #"{"_id":"a","_rev":"2-b","n":\#(at("n", or: "1")),"#
            + #""_revisions":{"start":\#(at("start", or: "2")),"ids":["b","a"]},"#
            + #""_attachments":{"f":{"content_type":"x/y","revpos":\#(at("revpos", or: "1")),"#
            + #""digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","length":\#(at("length", or: "5")),"#
            + #""encoded_length":\#(at("encoded_length", or: "5")),"#
            + #""data":"aGVsbG8="},"g":{"content_type":"x/y","stub":true,"#
            + #""revpos":\#(at("revpos", or: "1")),"digest":"md5-fXkwN6B2AYZXSwKC8vQ15w==","#
            + #""length":\#(at("length", or: "5")),"encoded_length":\#(at("encoded_length", or: "5")),"#
            + #""encoding":"\#(at("encoding", or: "identity"))"}}}"#
    }

    private static let history = (1...3).map { number in
        #"{"session_id":"s\#(number)","run":"s\#(number)","recorded_seq":RECORDED,"#
            + #""start_time":TIME,"end_time":TIME,"start_last_seq":RECORDED,"#
            + #""missing_checked":COUNT,"missing_found":COUNT,"docs_read":COUNT,"#
            + #""docs_written":COUNT,"doc_write_failures":COUNT}"#
    }.joined(separator: ",")

    func respond(to request: WireRequest) async throws -> WireResponse {
        requests.withLock { $0.append("\(request.method) \(request.path)") }
        switch request.path {
        case "":
            return answer(
                #"{"db_name":"db","update_seq":\#(at("update_seq", or: "5")),"#
                    + #""instance_start_time":\#(at("update_seq", or: "\"0\"")),"#
                    + #""doc_count":\#(at("update_seq", or: "1"))}"#)
        case "_changes":
            let isFirst = requests.withLock { $0.filter { $0.hasSuffix(" _changes") }.count } == 1
            let row = #"{"seq":\#(at("seq", or: "5")),"id":"a","changes":[{"rev":"2-b"}]}"#
            return answer(
                #"{"results":[\#(isFirst ? row : "")],"last_seq":\#(at("last_seq", or: "5")),"#
                    + #""pending":\#(at("pending", or: "0"))}"#)
        case "_bulk_get":
            return answer(#"{"results":[{"id":"a","docs":[{"ok":\#(document)}]}]}"#)
        case "_revs_diff":
            return answer(#"{"here":{"missing":["1-x"],"possible_ancestors":[\#(number)]}}"#)
        case "_bulk_docs": return answer(#"[{"id":"here","status":\#(number)}]"#, status: 201)
        default: break
        }
        if request.path.hasPrefix("_local/") {
            guard request.method == .get else {
                return answer(#"{"ok":true,"rev":"0-1"}"#, status: 201)
            }
            let text = Self.history.split(separator: "RECORDED", omittingEmptySubsequences: false)
                .joined(separator: at("recorded_seq", or: "0"))
                .split(separator: "TIME", omittingEmptySubsequences: false)
                .joined(separator: at("time", or: "5"))
                .split(separator: "COUNT", omittingEmptySubsequences: false)
                .joined(separator: at("count", or: "5"))
            return answer(#"{"_id":"x","_rev":"0-1","history":[\#(text)]}"#)
        }
        if request.path.contains("/") {
            return WireResponse(
                status: place == "Content-Range" ? 206 : 200,
                headers: [
                    "Content-Type": "x/y", "Content-Length": at("Content-Length", or: "5"),
                    "Content-Range": "bytes \(number)-\(number)/\(number)", "Content-MD5": number,
                ], body: BytesPieces(Array("world".utf8)))
        }
        return answer(document)
    }

    private func answer(_ body: String, status: Int = 200) -> WireResponse {
        WireResponse(
            status: status,
            headers: ["Content-Type": "application/json", "Retry-After": number, "Age": number],
            body: BytesPieces(Array(body.utf8)))
    }
}

/// Numbers of servers: whatever stands where one is expected, the replication ends, and the process lives.
///
/// A number that traps ends the process of the tests, and with it all of them.
@Suite(.timeLimit(.minutes(10))) struct ForeignNumberTests {
    private static let numbers = [
        "-1", "0", "1", "9007199254740993", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "18446744073709551615", "18446744073709551616", "1e300", "-1e300",
        "1e400", "-0.0", "1e-300", "0.5", "null", "\"9223372036854775807\"", "\"-1\"",
    ]

    private static let places = [
        "n", "start", "revpos", "length", "encoded_length", "update_seq", "seq", "last_seq",
        "pending", "recorded_seq", "time", "count", "Content-Length", "Content-Range", "none",
    ]

    private func worker(_ server: NumberServer, _ here: Database, isPush: Bool, deferring: Bool)
        -> ReplicationWorker
    {
        var feed = HTTPPeer.Feed()
        feed.bringsContents = !deferring
        let peer = HTTPPeer(server, for: here, feed: feed)
        var reception = Reception(source: server.name)
        reception.isDeferring = deferring
        let local = LocalPeer(here, reception: reception)
        let keeper = CheckpointKeeper(
            ReplicationID(
                .init(localUUID: here.privateUUID, remoteURL: server.name, isPush: isPush)),
            local: local, remote: peer, isPush: isPush, incarnation: here.testIncarnation)
        return isPush
            ? ReplicationWorker(source: local, target: peer, keeper: keeper)
            : ReplicationWorker(source: peer, target: local, keeper: keeper)
    }

    @Test(arguments: places)
    func `whatever number a server says, a replication with it ends`(place: String) async throws {
        for number in Self.numbers {
            let here = try Database.inMemory(named: "here")
            try here.save(MutableDocument(["n": 1], id: "here"))
            try here.putExistingRevision("a", ["n": 0], history: ["1-a"])
            for (isPush, deferring) in [(false, false), (false, true), (true, false)] {
                let server = NumberServer(place, number)
                let worker = worker(server, here, isPush: isPush, deferring: deferring)
                let run = ReplicationRun(worker: worker, isContinuous: false)
                let seen = Mutex<[Int]>([])
                do {
                    try await run.run(until: StopSignal()) { progress, _ in
                        // All that reports, bars and answers are made of.
                        var status = ReplicationStatus()
                        (status.pending, status.total) = (progress.pending, progress.wanted)
                        seen.withLock { $0.append(status.unfinished) }
                    }
                } catch is ReplicationError {}
                #expect(!server.requests.withLock { $0 }.isEmpty)
                #expect(seen.withLock { $0.allSatisfy { $0 >= 0 } })
            }
            #expect(try here.verify().isEmpty, "\(place) \(number)")
        }
    }
}
