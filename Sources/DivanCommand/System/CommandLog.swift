// SPDX-License-Identifier: Apache-2.0

internal import Divan

/// What `--log` and `--log-file` do while a command runs.
struct CommandLog {
    private let file: RotatingFileSink?
    private let formerLevels: LogLevels

    /// Begins to log as the options say.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        formerLevels = Log.levels
        let path = arguments.string("log-file")
        file = path.map { RotatingFileSink(path: $0) }
        let words = arguments.strings("log")
        let base = LogLevels(file == nil ? .warning : .info)
        let text = words.joined(separator: ",")
        guard let levels = words.isEmpty ? base : LogLevels(parsing: text, over: base) else {
            throw UsageError(
                "--log takes LEVEL or DOMAIN=LEVEL, not \"\(text)\". Levels are"
                    + " \(LogLevel.allCases.map(\.name).joined(separator: ", ")); domains are"
                    + " \(LogDomain.allCases.map(\.name).joined(separator: ", ")).")
        }
        // With a file, standard error goes on to get warnings only.
        if let file { Log.add(file, levels: levels) } else { Log.levels = levels }
    }

    /// Logs as before.
    func end() {
        if let file { Log.remove(file) }
        Log.levels = formerLevels
    }
}
