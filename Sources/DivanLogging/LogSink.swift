// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// Where log entries go.
///
/// A sink gets one entry at a time, in the order in which they were logged, on any thread that
/// logs. It never throws: what it cannot write is lost, and the thread goes on. An entry that a
/// sink logs itself while it writes is dropped, or there would be no end.
public protocol LogSink: AnyObject, Sendable {
    /// Writes one entry.
    func write(_ entry: LogEntry)
}

/// Writes each entry as a line on standard error. It is the sink of a process that names no other.
public final class StandardErrorSink: LogSink {
    /// What a line looks like.
    public enum Form: Sendable {
        /// `Divan: `, time, level, domain and message: for a terminal or a file.
        case dated
        /// The level as `<4>`, domain and message: for the journal of systemd, which notes the time itself and reads the
        /// level from the head of the line.
        case journal
    }

    private let form: Form

    /// Makes a sink.
    ///
    /// - Parameter form: What a line looks like.
    public init(_ form: Form = .dated) { self.form = form }

    /// Writes one line. Where standard error is closed, nothing happens.
    public func write(_ entry: LogEntry) {
        let line =
            switch form {
            case .dated: "Divan: " + entry.line
            case .journal: entry.journalLine
            }
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let written = try? Descriptors.writeSome(bytes.span, to: Descriptors.standardError)
            guard let written, written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }
}

/// Hands each entry to a closure, which may pass it to the system's log or to one of the app's own.
///
/// ```swift
/// Log.redirect { entry in
///     logger.log("\(entry.level) \(entry.domain.name): \(entry.message)")
/// }
/// ```
public final class ClosureSink: LogSink {
    private let body: @Sendable (LogEntry) -> Void

    /// Makes a sink of a closure.
    public init(_ body: @escaping @Sendable (LogEntry) -> Void) { self.body = body }

    /// Calls the closure.
    public func write(_ entry: LogEntry) { body(entry) }
}
