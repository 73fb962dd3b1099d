// SPDX-License-Identifier: Apache-2.0

extension Sequence {
    /// What conditions come to that are true, false, or nil for unknown: *and* where false is decisive, *or* where true is.
    ///
    ///     and   true, unknown → unknown     false, unknown → false
    ///     or    true, unknown → true        false, unknown → unknown
    ///
    /// - Parameters:
    ///   - decisive: The value that decides for all, as soon as one condition has it.
    ///   - truth: The value of a condition.
    /// - Returns: The value of all together.
    /// - Throws: What `truth` throws.
    package func truth(decisive: Bool, _ truth: (Element) throws -> Bool?) rethrows -> Bool? {
        var isUnknown = false
        for part in self {
            let truth = try truth(part)
            if truth == decisive { return decisive }
            if truth == nil { isUnknown = true }
        }
        return isUnknown ? nil : !decisive
    }
}
