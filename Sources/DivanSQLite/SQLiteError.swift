// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// What SQLite said: its extended result code and its message.
struct SQLiteError: Error, CustomStringConvertible {
    /// The extended result code, such as 1546, which is `SQLITE_IOERR_TRUNCATE`.
    let extendedCode: Int32
    /// SQLite's own sentence, in English. It names tables and columns, never values.
    let message: String
    /// The system's number of the error, `errno`, which tells more of an error of files; 0 where there is none.
    var systemNumber: Int32 = 0

    /// The result code without its extension.
    var primaryCode: Int32 { extendedCode & 0xFF }

    /// The error of the system's that led to this one.
    var cause: SystemError { SystemError("sqlite3", "", number: systemNumber) }

    var description: String { "SQLite \(extendedCode): \(message)" }
}
