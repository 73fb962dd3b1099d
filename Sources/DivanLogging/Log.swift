// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// What Divan says about its work, for the people who look after an app.
///
/// ```swift
/// Log.setLevel(.info)                                   // every domain
/// Log.setLevel(.debug, for: .expiration)                // one domain
/// Log.add(RotatingFileSink(path: "/var/log/app.log"))   // beside standard error
/// Log.redirect { entry in print(entry.line) }           // instead of it
/// ```
///
/// Unless told otherwise, warnings and errors of all domains go to standard error and nothing else is
/// written. An entry names documents by their IDs and never shows their content, except at level
/// `debug`, which is for developers.
///
/// ## Cost
///
/// A call whose level is off costs one atomic load and does not build its message. A call whose
/// level is on writes its entry before it returns, unless another thread is writing just then; that
/// thread then writes it.
///
/// Settings hold for the whole process and may be changed at any time, from any thread.
public enum Log {
    /// The centre of the process.
    static let shared = LogCentre()

    /// The levels for every sink that was added without its own.
    public static var levels: LogLevels {
        get { shared.levels }
        set { shared.levels = newValue }
    }

    /// Sets the level of a domain, or of all of them.
    ///
    /// - Parameters:
    ///   - level: The lowest level that is written; `none` for nothing.
    ///   - domain: The domain; nil for all.
    public static func setLevel(_ level: LogLevel, for domain: LogDomain? = nil) {
        shared.setLevel(level, for: domain)
    }

    /// Adds a sink beside those there are.
    ///
    /// - Parameters:
    ///   - sink: The sink.
    ///   - levels: What it gets; nil to follow `Log.levels`.
    public static func add(_ sink: any LogSink, levels: LogLevels? = nil) {
        shared.add(sink, levels: levels)
    }

    /// Removes a sink; one that is not there is fine.
    public static func remove(_ sink: any LogSink) { shared.remove(sink) }

    /// Replaces all sinks; an empty list writes nothing anywhere.
    public static func replaceSinks(by sinks: [any LogSink]) { shared.replaceSinks(by: sinks) }

    /// Sends everything to a closure, in place of all sinks; nil goes back to standard error.
    public static func redirect(to body: (@Sendable (LogEntry) -> Void)?) {
        shared.redirect(to: body)
    }
}

/// Says things in one domain: `Log.database.info("Opened it.")`.
package struct DomainLog: Sendable {
    private let domain: LogDomain
    private let centre: LogCentre

    /// Makes a log that sends its entries to `centre`.
    package init(_ domain: LogDomain, to centre: LogCentre) {
        self.domain = domain
        self.centre = centre
    }

    /// Whether an entry of this level would be written; for entries that take work to prepare.
    package func isEnabled(_ level: LogLevel) -> Bool { centre.isEnabled(level, domain) }

    /// Says what only developers want to know. Document content is allowed here and nowhere else.
    package func debug(_ message: @autoclosure () -> String) { log(.debug, message) }
    /// Says what a step of the work does.
    package func verbose(_ message: @autoclosure () -> String) { log(.verbose, message) }
    /// Says what an administrator would like to know.
    package func info(_ message: @autoclosure () -> String) { log(.info, message) }
    /// Says what is odd.
    package func warning(_ message: @autoclosure () -> String) { log(.warning, message) }
    /// Says what failed.
    package func error(_ message: @autoclosure () -> String) { log(.error, message) }

    private func log(_ level: LogLevel, _ message: () -> String) {
        guard centre.isEnabled(level, domain) else { return }
        centre.log(
            LogEntry(
                millisecondsSince1970: WallClock.millisecondsSince1970, domain: domain,
                level: level,
                message: message()))
    }
}

extension Log {
    /// Says something about databases.
    package static var database: DomainLog { DomainLog(.database, to: shared) }
    /// Says something about stored bytes.
    package static var storage: DomainLog { DomainLog(.storage, to: shared) }
    /// Says something about attachments.
    package static var attachments: DomainLog { DomainLog(.attachments, to: shared) }
    /// Says something about change notifications.
    package static var changes: DomainLog { DomainLog(.changes, to: shared) }
    /// Says something about documents whose time has come.
    package static var expiration: DomainLog { DomainLog(.expiration, to: shared) }
    /// Says something about compaction, verification, salvage, backup or import.
    package static var maintenance: DomainLog { DomainLog(.maintenance, to: shared) }
    /// Says something about scripts of design documents.
    package static var scripts: DomainLog { DomainLog(.scripts, to: shared) }

    /// Says something about the app's validation functions and filters.
    package static var validation: DomainLog { DomainLog(.validation, to: shared) }
    /// Says something about the listener.
    package static var listener: DomainLog { DomainLog(.listener, to: shared) }
    /// Says something about replications.
    package static var replication: DomainLog { DomainLog(.replication, to: shared) }
}
