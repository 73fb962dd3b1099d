// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// One thing that is not the same at both ends.
struct Difference: Sendable {
    /// The part that found it.
    var part: String
    /// What was done before, such as a direction; empty for nothing in particular.
    var circumstance: String
    /// The ID of a document, or the name of a request.
    var subject: String
    /// What of it differs.
    var facet: String
    /// What the one end has, and the other.
    var ends: [(name: String, value: String)]

    /// One line.
    var line: String {
        let place = circumstance.isEmpty ? part : "\(part), \(circumstance)"
        let values = ends.map { "\($0.name) has \(Self.short($0.value))" }.joined(separator: ", ")
        return "\(place): \(Self.quoted(subject)) \(facet)\(values.isEmpty ? "" : ": \(values)")"
    }

    static func quoted(_ text: String) -> String {
        let short = text.unicodeScalars.prefix(60)
        let escaped = short.map { $0.escaped(asASCII: true) }.joined()
        return "\"\(escaped)\(short.count < text.unicodeScalars.count ? "…" : "")\""
    }

    private static func short(_ text: String) -> String {
        let line = text.replacing("\n", with: " ")
        guard line.utf8.count > 160 else { return line }
        return "\(line.prefix(120))… (\(line.utf8.count) bytes)"
    }
}

/// Tells what happens on the output, and counts differences.
///
/// State: the counts, guarded by the mutex.
final class Report: Sendable {
    private struct Counts {
        var explained: [String: Int] = [:]
        var unexplained = 0
        var checks = 0
    }

    private let counts = Mutex(Counts())
    private let showsExplained: Bool
    private let isDivan: Bool

    /// - Parameters:
    ///   - showsExplained: Whether differences that have a reason are told one by one.
    ///   - isDivan: Whether the server is a listener, so that nothing may differ.
    init(showsExplained: Bool, isDivan: Bool) {
        self.showsExplained = showsExplained
        self.isDivan = isDivan
    }

    /// How many differences have no reason.
    var unexplained: Int { counts.withLock { $0.unexplained } }

    /// Tells how far it is.
    func say(_ line: String) { Self.write(line) }

    /// Counts comparisons that were made.
    func checked(_ count: Int = 1) { counts.withLock { $0.checks += count } }

    /// Tells a difference, unless the table has a reason for it.
    func add(_ difference: Difference) {
        if let reason = Explanation.reason(for: difference, isDivan: isDivan) {
            counts.withLock { $0.explained[reason, default: 0] += 1 }
            if showsExplained { say("explained \(difference.line)") }
        } else {
            counts.withLock { $0.unexplained += 1 }
            say("DIFFERENT \(difference.line)")
        }
    }

    /// Tells that something is not as it has to be, whatever the other end has.
    func fail(_ part: String, _ circumstance: String, _ subject: String, _ sentence: String) {
        let facet = sentence.replacing("\n", with: " ")
        add(
            Difference(
                part: part, circumstance: circumstance, subject: subject, facet: facet, ends: []))
    }

    /// Tells what there was in all.
    func summarize() {
        let counts = counts.withLock { $0 }
        say("")
        say("\(counts.checks) comparisons.")
        for (reason, count) in counts.explained.sorted(by: { $0.key < $1.key }) {
            say("\(count) explained: \(reason)")
        }
        say(
            counts.unexplained == 0
                ? "No unexplained difference." : "\(counts.unexplained) unexplained differences.")
    }

    /// Writes a whole line at once, so that a kill leaves no half of one.
    static func write(_ line: String, to descriptor: Int32 = 1) {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }

    private static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int
    {
        #if canImport(Glibc)
        Glibc.write(descriptor, bytes, count)
        #else
        Darwin.write(descriptor, bytes, count)
        #endif
    }
}
