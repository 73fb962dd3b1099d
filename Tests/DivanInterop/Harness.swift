// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Synchronization

/// Both ends of a comparison, and what the parts need besides.
///
/// State: what is to be done at the end, guarded by the mutex.
final class Harness: Sendable {
    let options: Options
    let report: Report
    /// The server that is compared with.
    let there: Server
    /// Our own listener.
    let here: Site
    /// Whether the server is a listener, too.
    let isStandIn: Bool
    let folder: String
    let transport: any HTTPTransport
    private let prefix: String
    private let endings = Mutex<[@Sendable () async -> Void]>([])

    init(_ options: Options) async throws {
        self.options = options
        transport = try CurlTransport()
        var random = SystemRandomNumberGenerator()
        prefix = "interop-" + String(random.next(), radix: 36)
        folder = FileManager.default.temporaryDirectory.path + "/" + prefix
        here = try Site(name: "Divan", folder: folder + "/here", transport: transport)
        if let url = options.server {
            there = Server(name: "the server", url: url, transport: transport)
            let answer = try await there.send(.get, "/")
            guard answer.status == 200, answer.json?["couchdb"] != nil else {
                throw Trouble("No CouchDB answers at \(url): \(answer)")
            }
            isStandIn = answer.headers["Server"]?.hasPrefix("Divan") ?? false
        } else {
            let site = try Site(
                name: "the stand-in", folder: folder + "/there", transport: transport)
            there = site.server
            isStandIn = true
            endings.withLock { $0.append { site.stop() } }
        }
        report = Report(showsExplained: options.showsExplained, isDivan: isStandIn)
    }

    /// A seeded generator of a part's own.
    func random(_ salt: UInt64) -> SeededRandom { SeededRandom(seed: options.seed, salt) }

    /// The name of a database.
    func name(_ words: String...) -> String {
        ([prefix] + words).joined(separator: "-").replacing(" ", with: "-").lowercased()
    }

    /// Notes what is to be done at the end, whatever happens.
    func atEnd(_ ending: @escaping @Sendable () async -> Void) {
        endings.withLock { $0.append(ending) }
    }

    /// Ends everything that was begun: the newest first.
    func cleanUp() async {
        while let ending = endings.withLock({ $0.popLast() }) { await ending() }
        await there.removeDatabases()
        here.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Waits until something holds.
    ///
    /// - Returns: Whether it came to hold in that time.
    func wait(
        upTo seconds: Int = 120, until condition: () async throws -> Bool
    ) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// A comparison whose differences are told of a part.
    func comparison(_ part: String, _ circumstance: String, _ names: [String]? = nil)
        -> SnapshotComparison
    {
        SnapshotComparison(
            part, circumstance, report, names: names ?? [here.server.name, there.name])
    }
}
