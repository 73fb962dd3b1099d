// SPDX-License-Identifier: Apache-2.0

// Numbers that a caller gives and that make no sense are refused where a method can throw.
extension DatabaseError {
    /// Refuses negative numbers of rows to pass over and to return.
    ///
    /// - Parameters:
    ///   - skip: How many rows to pass over.
    ///   - limit: How many rows at most; nil for all.
    /// - Throws: `DatabaseError` with code `.invalidQuery`.
    package static func check(skip: Int = 0, limit: Int?) throws {
        guard skip >= 0, limit ?? 0 >= 0 else {
            throw DatabaseError(
                .invalidQuery, "A negative number of rows makes no sense; use 0 or more.")
        }
    }

    /// Refuses a number to keep that is less than 1.
    ///
    /// - Parameters:
    ///   - number: How many to keep.
    ///   - what: What is kept, in the plural.
    /// - Throws: `DatabaseError` with code `.invalidQuery`.
    package static func check(keeping number: Int, _ what: String) throws {
        guard number >= 1 else {
            throw DatabaseError(
                .invalidQuery, "A database cannot keep \(number) \(what); use 1 or more.")
        }
    }

    /// A date that is not a number.
    static var dateWithoutTime: DatabaseError {
        DatabaseError(
            .invalidQuery, "A date whose time is not a number is no date of expiration.")
    }
}
