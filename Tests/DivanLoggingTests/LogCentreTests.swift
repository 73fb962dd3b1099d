// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanLogging
import Synchronization
import Testing

/// A sink that keeps what it gets.
final class MemorySink: LogSink {
    private let kept = Mutex<[LogEntry]>([])

    var entries: [LogEntry] { kept.withLock { $0 } }
    var messages: [String] { entries.map(\.message) }

    func write(_ entry: LogEntry) { kept.withLock { $0.append(entry) } }
}

@Suite struct LogCentreTests {
    private let sink = MemorySink()
    private let centre: LogCentre

    init() { centre = LogCentre(sink: sink) }

    private func log(_ domain: LogDomain) -> DomainLog { DomainLog(domain, to: centre) }

    private func sayAll(_ domain: LogDomain) {
        log(domain).debug("debug")
        log(domain).verbose("verbose")
        log(domain).info("info")
        log(domain).warning("warning")
        log(domain).error("error")
    }

    @Test func `warnings and errors are written unless told otherwise`() {
        for domain in LogDomain.allCases { sayAll(domain) }
        #expect(sink.entries.count == 2 * LogDomain.allCases.count)
        #expect(sink.entries.allSatisfy { $0.level >= .warning })
    }

    @Test(arguments: LogLevel.allCases)
    func `a level lets itself and what matters more through`(_ level: LogLevel) {
        centre.setLevel(level, for: nil)
        sayAll(.database)
        let wanted = LogLevel.allCases.filter { $0 >= level && $0 != .none }
        #expect(sink.entries.map(\.level) == wanted)
    }

    @Test func `each domain has its own level`() {
        centre.setLevel(.none, for: nil)
        centre.setLevel(.debug, for: .expiration)
        for domain in LogDomain.allCases { sayAll(domain) }
        #expect(sink.entries.count == 5)
        #expect(sink.entries.allSatisfy { $0.domain == .expiration })
        #expect(centre.levels[.database] == .none)
    }

    @Test func `a message that is off is not built`() {
        let built = Atomic<Int>(0)
        func message() -> String {
            built.add(1, ordering: .relaxed)
            return "built"
        }
        log(.database).info(message())
        #expect(built.load(ordering: .relaxed) == 0)
        log(.database).warning(message())
        #expect(built.load(ordering: .relaxed) == 1)
        #expect(!log(.database).isEnabled(.info))
        #expect(!log(.database).isEnabled(.none))
    }

    @Test func `a sink with its own levels gets exactly these`() {
        let talkative = MemorySink()
        centre.add(talkative, levels: LogLevels(.debug))
        sayAll(.changes)
        #expect(talkative.messages == ["debug", "verbose", "info", "warning", "error"])
        #expect(sink.messages == ["warning", "error"])
        centre.remove(talkative)
        sayAll(.changes)
        #expect(talkative.entries.count == 5)
        #expect(!log(.changes).isEnabled(.info))
    }

    @Test func `without sinks nothing is written and nothing is built`() {
        centre.replaceSinks(by: [])
        #expect(!log(.database).isEnabled(.error))
        sayAll(.database)
        centre.replaceSinks(by: [sink])
        #expect(sink.entries.isEmpty)
        sayAll(.database)
        #expect(sink.entries.count == 2)
    }

    @Test func `a redirected log goes to the closure and nil restores`() {
        let said = MemorySink()
        centre.replaceSinks(by: [])
        centre.redirect { said.write($0) }
        log(.database).error("heard")
        centre.redirect(to: nil)
        #expect(log(.database).isEnabled(.warning))
        centre.setLevel(.none, for: nil)
        log(.database).error("unheard")
        #expect(said.messages == ["heard"])
        #expect(sink.entries.isEmpty)
    }

    @Test func `entries of many threads all come, each thread's in order`() {
        // Fewer than may wait in all, so that none is dropped. The thread that delivers does not return
        // before everything is delivered, so all is there when the last one has returned.
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<500 {
                log(.database).warning("\(thread) \(number)")
                centre.checkInvariants()
            }
        }
        var next = [Int](repeating: 0, count: 8)
        for message in sink.messages {
            let parts = message.split(separator: " ").compactMap { Int($0) }
            #expect(next[parts[0]] == parts[1])
            next[parts[0]] += 1
        }
        #expect(next.allSatisfy { $0 == 500 })
    }

    @Test func `the gate is what the sinks want, whatever is added, removed and set`() {
        // All sequences of four steps of six kinds.
        for number in 0..<(6 * 6 * 6 * 6) {
            let centre = LogCentre(sink: MemorySink())
            var sinks: [MemorySink] = []
            var rest = number
            for _ in 0..<4 {
                switch rest % 6 {
                case 0:
                    sinks.append(MemorySink())
                    centre.add(sinks[sinks.count - 1], levels: nil)
                case 1:
                    sinks.append(MemorySink())
                    centre.add(sinks[sinks.count - 1], levels: LogLevels(.verbose))
                case 2: if let sink = sinks.popLast() { centre.remove(sink) }
                case 3: centre.setLevel(.debug, for: .database)
                case 4: centre.setLevel(.error, for: nil)
                default: centre.replaceSinks(by: [])
                }
                centre.checkInvariants()
                rest /= 6
            }
        }
    }

    @Test func `two sinks get the same order`() {
        let other = MemorySink()
        centre.add(other, levels: nil)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<500 { log(.database).error("\(thread) \(number)") }
        }
        #expect(other.entries.count == 2_000)
        #expect(sink.messages == other.messages)
    }

    @Test func `what a sink logs itself is dropped`() {
        let centre = LogCentre(sink: MemorySink())
        let said = MemorySink()
        centre.replaceSinks(by: [
            ClosureSink { entry in
                said.write(entry)
                DomainLog(.database, to: centre).error("again")
            }
        ])
        DomainLog(.database, to: centre).error("once")
        DomainLog(.database, to: centre).error("twice")
        #expect(said.messages == ["once", "twice"])
    }

    @Test func `a sink that blocks stops no other thread, and what it misses is counted`() {
        let blocked = DispatchSemaphore(value: 0)
        let release = DispatchSemaphore(value: 0)
        let said = MemorySink()
        centre.replaceSinks(by: [
            ClosureSink { entry in
                said.write(entry)
                guard entry.message == "stop" else { return }
                blocked.signal()
                release.wait()
            }
        ])
        let log = log(.database)
        let group = DispatchGroup()
        // A thread of its own: those that tasks share must not be blocked.
        DispatchQueue(label: "divan.test.sink").async(group: group) { log.error("stop") }
        blocked.wait()
        for number in 0..<(LogCentre.capacity + 7) { log.error("\(number)") }
        centre.checkInvariants()
        release.signal()
        group.wait()
        centre.checkInvariants()
        #expect(said.entries.count == 1 + LogCentre.capacity + 1)
        #expect(said.messages.last?.hasPrefix("7 log entries were dropped") == true)
    }
}
