// SPDX-License-Identifier: Apache-2.0

/// The option `--revs-limit`: how many revision IDs of each branch a new database keeps.
enum RevisionLimit {
    /// The highest that is taken, as over HTTP.
    private static let highest = 1_000_000

    static func option(_ summary: String) -> OptionSchema {
        .value("revs-limit", nil, "N", summary)
    }

    /// The limit that is asked for; nil for none.
    static func read(_ arguments: ParsedArguments) throws -> Int? {
        guard let limit = try arguments.count("revs-limit") else { return nil }
        guard (1...highest).contains(limit) else {
            throw UsageError("--revs-limit takes a number from 1 to 1000000.")
        }
        return limit
    }
}
