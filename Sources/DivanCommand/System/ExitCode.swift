// SPDX-License-Identifier: Apache-2.0

/// What the process tells its parent. The numbers are part of the tool's interface.
enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case failure = 1
    case usage = 2
    case notFound = 3
    case conflict = 4
    case problemsFound = 5
    case badInput = 6
    case busy = 7
    case corrupted = 8
    case unauthorized = 9
    case interrupted = 130

    /// The sentence that the help and the documentation print beside the number.
    var meaning: String {
        switch self {
        case .success: "Done."
        case .failure: "Failed: input or output, full disk, anything not named below."
        case .usage: "The command line was not understood."
        case .notFound: "The database, document or revision does not exist."
        case .conflict: "The document or database exists, or was changed meanwhile."
        case .problemsFound:
            "verify, design check or edge status found problems, or salvage could not save all."
        case .badInput: "Input was not valid, or import skipped some of it."
        case .busy: "Another process is using the database."
        case .corrupted: "The database is damaged where the command needed it."
        case .unauthorized: "The key is not the database's, or is missing, or is not needed."
        case .interrupted: "Interrupted by Control-C; what was committed stays."
        }
    }
}

/// A failed command: its exit code and one sentence for standard error.
struct CommandFailure: Error, Equatable, CustomStringConvertible {
    var status: ExitCode
    var message: String

    init(_ status: ExitCode, _ message: String) {
        self.status = status
        self.message = message
    }

    var description: String { message }
}
