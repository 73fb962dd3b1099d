// SPDX-License-Identifier: Apache-2.0

/// What SQLite said: its extended result code and its message.
struct SQLiteError: Error, CustomStringConvertible {
    /// The extended result code, such as 1546, which is `SQLITE_IOERR_TRUNCATE`.
    let extendedCode: Int32
    /// SQLite's own sentence, in English. It names tables and columns, never values.
    let message: String

    /// The result code without its extension.
    var primaryCode: Int32 { extendedCode & 0xFF }

    var description: String { "SQLite \(extendedCode): \(message)" }
}
