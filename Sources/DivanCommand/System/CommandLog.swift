// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanSystem

/// What `--log` and `--log-file` do while a command runs.
///
/// A command that a service manager runs with its standard error in the journal writes lines as the journal reads them.
final class CommandLog: Sendable {
    private let file: RotatingFileSink?
    private let writesJournal: Bool
    private let formerLevels: LogLevels

    /// Begins to log as the options say.
    init(_ arguments: ParsedArguments, _ environment: EnvironmentVariables) throws(UsageError) {
        formerLevels = Log.levels
        let path = arguments.string("log-file")
        file = path.map { RotatingFileSink(path: $0) }
        let levels = try Self.levels(arguments)
        writesJournal = Self.isJournal(environment["JOURNAL_STREAM"])
        if writesJournal { Log.replaceSinks(by: [StandardErrorSink(.journal)]) }
        // With a file, standard error goes on to get warnings only.
        if let file { Log.add(file, levels: levels) } else { Log.levels = levels }
    }

    /// Logs as other options say, but to the same places.
    func follow(_ arguments: ParsedArguments) throws(UsageError) {
        let levels = try Self.levels(arguments)
        if let file {
            Log.remove(file)
            Log.add(file, levels: levels)
        } else {
            Log.levels = levels
        }
    }

    /// Logs as before.
    func end() {
        if let file { Log.remove(file) }
        if writesJournal { Log.redirect(to: nil) }
        Log.levels = formerLevels
    }

    /// The levels that the options say.
    static func levels(_ arguments: ParsedArguments) throws(UsageError) -> LogLevels {
        let words = arguments.strings("log")
        let base = LogLevels(arguments.flag("log-file") ? .info : .warning)
        let text = words.joined(separator: ",")
        guard let levels = words.isEmpty ? base : LogLevels(parsing: text, over: base) else {
            throw UsageError(
                "--log takes LEVEL or DOMAIN=LEVEL, not \"\(text)\". Levels are"
                    + " \(LogLevel.allCases.map(\.name).joined(separator: ", ")); domains are"
                    + " \(LogDomain.allCases.map(\.name).joined(separator: ", ")).")
        }
        return levels
    }

    /// Whether standard error is what the service manager has connected to the journal: `JOURNAL_STREAM` is its device and
    /// inode, which programs that the service starts with other outputs inherit, too.
    static func isJournal(_ stream: String?) -> Bool {
        guard let stream,
            let status = try? FileStatus(of: Descriptors.standardError, path: "standard error")
        else { return false }
        return stream == "\(status.identity.device):\(status.identity.inode)"
    }
}
