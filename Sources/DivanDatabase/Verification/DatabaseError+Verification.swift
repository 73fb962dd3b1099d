// SPDX-License-Identifier: Apache-2.0

extension DatabaseError {
    /// What was to be copied has problems.
    package static func damagedSource(_ problem: VerificationProblem, count: Int) -> DatabaseError {
        let others = count == 1 ? "" : " (and \(count - 1) more problems)"
        return DatabaseError(
            .corrupted,
            "The database to be copied is damaged, so nothing was replaced or made; run verify and "
                + "salvage on it. First problem\(others): \(problem.message)",
            documentID: problem.documentID
        )
    }
}
