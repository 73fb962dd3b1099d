// SPDX-License-Identifier: Apache-2.0

import Testing

/// Waits until something is so, for half a minute at most.
func eventually(
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    var looks = 0
    // Looks count, too: on a busy machine half a minute may be a handful of them.
    while looks < 1_000 || ContinuousClock.now < deadline {
        if try condition() { return }
        looks += 1
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("It did not come to pass.", sourceLocation: sourceLocation)
}
