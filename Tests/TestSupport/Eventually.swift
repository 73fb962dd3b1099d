// SPDX-License-Identifier: Apache-2.0

public import Testing

internal import Foundation

/// Waits until a condition holds, and records a failure when it never does.
///
/// ```swift
/// await eventually { listener.connectionCount == 0 }
/// ```
///
/// For what happens on another thread or in another process. The wait ends after two minutes and 20,000 looks,
/// whichever is later: a test that a busy machine keeps from running looks seldom, and so gets more time
/// than the clock alone would give it.
///
/// - Parameters:
///   - isolation: The actor on which the condition is looked at.
///   - sourceLocation: Where a failure is shown.
///   - condition: What is waited for.
/// - Returns: Whether the condition held in the end.
/// - Throws: What the condition throws.
@discardableResult
public func eventually(
    isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) async rethrows -> Bool {
    var patience = Patience()
    while true {
        if try condition() { return true }
        guard !Task.isCancelled, patience.lasts() else { break }
        try? await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("It did not happen.", sourceLocation: sourceLocation)
    return false
}

/// Waits until a condition holds as the asynchronous function of this name does, but keeps the thread meanwhile.
///
/// - Parameters:
///   - sourceLocation: Where a failure is shown.
///   - condition: What is waited for.
/// - Returns: Whether the condition held in the end.
/// - Throws: What the condition throws.
@discardableResult
public func eventually(
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) rethrows -> Bool {
    var patience = Patience()
    while true {
        if try condition() { return true }
        guard patience.lasts() else { break }
        Thread.sleep(forTimeInterval: 0.005)
    }
    Issue.record("It did not happen.", sourceLocation: sourceLocation)
    return false
}

/// How long a wait may last.
private struct Patience {
    private let end = ContinuousClock.now + .seconds(120)
    private var looks = 0

    mutating func lasts() -> Bool {
        looks += 1
        return looks < 20_000 || ContinuousClock.now < end
    }
}
