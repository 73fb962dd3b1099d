// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage

/// A walk over the rows of an integer store inside one step of SQLite's.
///
/// To begin and end a step for each row is a quarter of what a scan takes, by a trial in C. A function in the condition of
/// a statement is lent each row in the midst of one step, which goes on to the next row while the function returns false:
///
///      SELECT 1 FROM "revisions" WHERE key >= ?1 AND divan_walk(?2, key, value)
///
/// The parameter ?2 is a pointer to the walk, with a type that only this file has, so that no other SQL can use the function.
/// While the step runs, its statement cannot be reset: walks are made in snapshots, where nothing needs it at rest.
@safe
struct RowWalk {
    /// Is lent a row; returns whether the walk ends on it.
    typealias Visit = (_ key: Int64, _ stored: Span<UInt8>) -> Bool

    /// The function's name.
    static let function = "divan_walk"

    fileprivate let visit: Visit

    /// Has the statements of a connection find the function.
    static func register(with database: OpaquePointer) {
        let flags = SQLITE_UTF8 | SQLITE_DIRECTONLY
        // SAFETY: the handle is valid. A connection without the function prepares no statement that has it.
        unsafe _ = sqlite3_create_function_v2(
            database, function, 3, flags, nil, { unsafe RowWalk.answer($0, $2) }, nil, nil, nil)
    }

    /// Runs a walk's statement once.
    ///
    /// - Parameters:
    ///   - statement: The prepared statement.
    ///   - key: The key of the first row.
    ///   - visit: Is lent each row, until it returns true.
    /// - Returns: What SQLite's step returned.
    static func step(
        _ statement: OpaquePointer, from key: Int64, _ visit: Visit
    ) -> Int32 {
        withoutActuallyEscaping(visit) { visit in
            var walk = RowWalk(visit: visit)
            // SAFETY: the handle is valid, and `walk` stays in place during the step. The pointer stays bound until the next
            // walk binds its own, and nothing else steps the statement.
            return unsafe withUnsafeMutablePointer(to: &walk) { walk in
                unsafe sqlite3_bind_int64(statement, 1, key)
                unsafe sqlite3_bind_pointer(statement, 2, walk, pointerType, nil)
                return unsafe sqlite3_step(statement)
            }
        }
    }

    /// What SQLite calls for each row.
    private static func answer(
        _ context: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        // SAFETY: SQLite calls with three values, which are valid until this returns. Only `step` binds a pointer of the type.
        guard let values = unsafe values,
            let pointer = unsafe sqlite3_value_pointer(values[0], pointerType)
        else {
            return unsafe sqlite3_result_error(context, "divan_walk is Divan's own.", -1)
        }
        let key = unsafe sqlite3_value_int64(values[1])
        let start = unsafe sqlite3_value_blob(values[2])
        let count = unsafe Int(sqlite3_value_bytes(values[2]))
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
        let stored = unsafe Span<UInt8>(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self))
        let ends = unsafe pointer.assumingMemoryBound(to: RowWalk.self).pointee.visit(key, stored)
        // The result is NULL if none is set, which is false.
        if ends { unsafe sqlite3_result_int(context, 1) }
    }

    /// The pointer's type. SQLite keeps the address until it is bound anew, so the text is static.
    private static var pointerType: UnsafePointer<CChar> {
        let text: StaticString = "divan-walk"
        // SAFETY: a static string of ASCII ends with a zero and is there as long as the process.
        return unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
