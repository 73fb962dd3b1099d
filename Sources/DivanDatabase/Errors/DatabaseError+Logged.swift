// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
internal import DivanModel

extension DatabaseError: LoggedError {
    /// One line: the sentence, then the code. What refuses a change has chosen its sentence, which stays out.
    package var logged: String {
        guard code == .forbidden else { return description }
        let document = documentID.map { "'\($0.text.prefix(200))'" } ?? "a document"
        let cause = (underlying as? any LoggedError).map { ": \($0.logged)" } ?? ""
        return "A function refuses \(document)\(cause) (\(code.rawValue))"
    }
}
