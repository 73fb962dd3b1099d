// SPDX-License-Identifier: Apache-2.0

import Testing

/// Waits until something is so, for ten minutes at most: the limit ends a hang, and is no promise.
func eventually(
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(600)
    while ContinuousClock.now < deadline {
        if try condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("It did not come to pass.", sourceLocation: sourceLocation)
}
