// SPDX-License-Identifier: Apache-2.0

import Testing

/// Waits until a condition holds, looking every few milliseconds, at most ten minutes.
///
/// For what happens on another thread or in another process. There is no such thing as too slow, only
/// never; a condition that never holds is recorded as a failure.
@discardableResult
func eventually(
    isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(600)
    while ContinuousClock.now < deadline {
        if try condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))
        if Task.isCancelled { break }
    }
    Issue.record("It did not happen.", sourceLocation: sourceLocation)
    return false
}
