// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanTestSupport
import FoundationEssentials

/// A pull from a server that sends what takes the most memory.
///
///     grown 41320 kB
///
/// It tells by how much the process has grown at most. The server is in the same process and makes its answers piece by piece.
struct HoardRounds {
    private static let patience = 45
    private static let longest = 120

    private let answer: GreedyAnswer

    init(_ arguments: [String]) throws {
        guard let answer = GreedyAnswer(rawValue: try arguments.argument(0)) else {
            throw WrongArguments()
        }
        self.answer = answer
    }

    func run() throws {
        let server = try GreedyServer(answer).start()
        let here = try Database.inMemory(named: "here")
        let url = "http://127.0.0.1:\(server.port)/db"
        // What a replication takes in any case is no part of it.
        try pull(
            Database.inMemory(named: "there"),
            from: "http://127.0.0.1:\(server.port)/\(GreedyServer.modest)")
        let before = Memory.kilobytes("VmRSS")
        Memory.resetPeak()
        try pull(here, from: url)
        Report.say("grown \(Memory.kilobytes("VmHWM") - before) kB")
        server.stop()
    }

    private func pull(_ here: Database, from url: String) throws {
        var settings = ReplicationConfiguration()
        settings.retry.firstDelay = .milliseconds(1)
        settings.retry.longestDelay = .milliseconds(2)
        settings.retry.maximumAttempts = 1
        settings.isContinuous = answer == .liveRow && !url.hasSuffix(GreedyServer.modest)
        settings.changesFeed = .continuous
        let replication = here.makePullReplication(from: url, settings: settings)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            _ = try? await replication.run()
            done.signal()
        }
        let patience = settings.isContinuous ? 5 : Self.patience
        guard done.wait(timeout: .now() + .seconds(patience)) == .timedOut else { return }
        guard replication.stops(within: Self.longest, done) else {
            Report.trouble("\(answer.rawValue): the replication does not stop.")
        }
    }
}

/// The memory of this process.
enum Memory {
    /// A field of the process's status.
    static func kilobytes(_ field: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(field + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
            ?? 0
    }

    /// Makes the peak begin at what there is now.
    static func resetPeak() {
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    }
}
