// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanSystem
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// One good client beside all that others can do to the listener: its slowest requests stay fast.
///
/// The client opens a connection for each request, reads a document and saves one, by its session or by a password that was
/// right before. Of a hundred requests the second slowest is looked at. The bound is for a build without optimisation beside
/// other tests on two processors; docs/listener.md has the figures of a release build, which are a small part of it.
///
/// A sanitizer makes everything several times slower, so its times would say nothing.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: !Sanitizer.isOn, "It measures times."))
struct LoadTests {
    /// Beside silent connections, and beside guesses, a request took ten seconds and more before they were bounded.
    private static let bound = Duration.seconds(1)
    private static let json = "Content-Type: application/json"

    /// A listener with two users, one of whom has a password that is hashed, and a database.
    private final class Loaded: Sendable {
        let served: ServedSite
        let cookie: String
        let number = Atomic(0)
        let uploads = Atomic(0)

        init(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws {
            served = try ServedSite { options in
                options.access = .users(["ann": "secret"])
                // The guesses of a test are to be hashed, all of them.
                options.limits.passwordAttempts = .max
                edit(&options)
            }
            _ = try served.database.put("first", ["a": 1], parent: nil)
            let path = served.site.manager.directory.path + "/listener.json"
            var file = try AccountsFile.load(path)
            file.users["eve"] = AccountsFile.User(password: "right", roles: ["_admin"])
            #expect(file.write(to: path))
            let client = try served.client()
            client.request(
                "POST", "/_session", [json], Array(#"{"name":"ann","password":"secret"}"#.utf8))
            let header = try #require(client.answer()?.header)
            let token = header.split(separator: "AuthSession=")[1].prefix { $0 != ";" }
            cookie = "Cookie: AuthSession=\(token)"
        }

        /// Sends a request on a connection of its own; nil when it is not answered.
        func status(
            _ method: String, _ target: String, _ headers: [String], _ body: [UInt8] = [],
            from host: UInt8 = 1
        ) -> Int? {
            try? served.status(method, target, headers, body, from: host)
        }

        /// How long the second slowest of a hundred requests of the good client takes.
        func slowest() -> Duration {
            let password = LoadTests.basic("ann", "secret")
            let times = (0..<100).map { round in
                ContinuousClock().measure {
                    let headers = round % 4 < 2 ? [cookie] : [password]
                    if round % 2 == 0 {
                        #expect(status("GET", "/db/first", headers) == 200)
                    } else {
                        let id = number.add(1, ordering: .relaxed).newValue
                        let body = Array("{}".utf8)
                        #expect(status("PUT", "/db/good-\(id)", headers, body) == 201)
                    }
                }
            }
            return times.sorted()[98]
        }
    }

    private static func basic(_ name: String, _ password: String) -> String {
        "Authorization: Basic " + Base64.encode(Array("\(name):\(password)".utf8))
    }

    /// Does something again and again, on so many threads, while a closure runs; then the listener is stopped, which ends
    /// what still waits.
    private func beside<T>(
        _ count: Int, of loaded: Loaded,
        _ load: @escaping @Sendable (_ thread: Int, _ round: Int) -> Void, _ body: () throws -> T
    ) rethrows -> T {
        let (stop, done) = (Flag(), DispatchGroup())
        for thread in 0..<count {
            done.enter()
            Thread.detachNewThread {
                var round = 0
                while !stop.isSet {
                    load(thread, round)
                    round += 1
                }
                done.leave()
            }
        }
        defer {
            stop.set()
            loaded.served.listener.stop()
            done.wait()
        }
        return try body()
    }

    @Test
    func `a good client is answered at once beside as many silent connections as there may be`()
        throws
    {
        // Each of them has two descriptors, since both ends are in this process.
        let most = min(4_096, Descriptors.limit / 4)
        let loaded = try Loaded { $0.limits.connections = most }
        let silent = try (0..<(most + 100)).map { number in
            let client = try loaded.served.client(from: UInt8(clamping: 2 + number % 50))
            // Every other one has begun a request that never ends.
            if number % 2 == 0 {
                client.write("POST /_session HTTP/1.1\r\nHost: localhost\r\n")
                client.write("Content-Length: 100\r\n\r\n{")
            }
            return client
        }
        let slowest = loaded.slowest()
        #expect(slowest < Self.bound, "\(slowest)")
        #expect(loaded.served.listener.connectionCount > most - 50)
        withExtendedLifetime(silent) {}
    }

    @Test func `a good client is answered at once beside those who guess passwords`() throws {
        let loaded = try Loaded()
        // Guesses of a known name and of many others, from two addresses, more than may wait.
        let slowest = beside(80, of: loaded) { thread, round in
            let name = thread % 4 == 0 ? "eve" : "n\(thread)-\(round)"
            let status = loaded.status(
                "GET", "/db/first", [Self.basic(name, "\(round)")],
                from: thread % 2 == 0 ? 2 : 3)
            // One that is told to come again does so soon.
            if status == 503 { usleep(20_000) }
        } _: {
            let slowest = loaded.slowest()
            // A password that must be hashed waits for one guess of each of the other addresses.
            let first = ContinuousClock().measure {
                #expect(loaded.status("GET", "/db/first", [Self.basic("eve", "right")]) == 200)
            }
            #expect(first < .seconds(10), "\(first)")
            return slowest
        }
        #expect(slowest < Self.bound, "\(slowest)")
    }

    @Test func `a good client is answered at once beside feeds that nothing is read of`() throws {
        let loaded = try Loaded()
        let database = loaded.served.database
        try database.write { transaction in
            for number in 0..<2_000 {
                let text = JSONValue.string(String(repeating: "y", count: 500))
                _ = try transaction.put("d\(number)", ["text": text], parent: nil)
            }
        }
        let feeds = try (0..<200).map { _ in
            let feed = try loaded.served.client(room: 4_096)
            let target = "/db/_changes?feed=continuous&include_docs=true&heartbeat=1000"
            feed.request("GET", target, [loaded.cookie])
            return feed
        }
        let slowest = loaded.slowest()
        #expect(slowest < Self.bound, "\(slowest)")
        withExtendedLifetime(feeds) {}
    }

    @Test func `a good client is answered at once beside large uploads`() throws {
        let loaded = try Loaded()
        let content = [UInt8](repeating: 7, count: 5 << 20)
        let list = String(repeating: #"{"a":[1,2,3],"b":"text"},"#, count: 2_000)
        let text = String(repeating: "x", count: 2 << 20)
        let document = Array(#"{"list":[\#(list)0],"text":"\#(text)"}"#.utf8)
        let slowest = beside(4, of: loaded) { thread, round in
            let isAttachment = thread % 2 == 0
            let status = loaded.status(
                "PUT", isAttachment ? "/db/a\(thread)-\(round)/file" : "/db/j\(thread)-\(round)",
                [loaded.cookie], isAttachment ? content : document)
            if status == 201 { loaded.uploads.add(1, ordering: .relaxed) }
        } _: {
            loaded.slowest()
        }
        #expect(slowest < Self.bound, "\(slowest)")
        #expect(loaded.uploads.load(ordering: .relaxed) > 0)
    }
}
