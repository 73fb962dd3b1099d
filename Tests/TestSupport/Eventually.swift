// SPDX-License-Identifier: Apache-2.0

public import Testing

internal import Foundation

/// Waits until a condition holds, and records a failure when it never does.
///
/// ```swift
/// await eventually { listener.connectionCount == 0 }
/// ```
///
/// For what happens on another thread or in another process. The wait ends after two minutes and 2,000 looks,
/// whichever is later: a test that a busy machine keeps from running looks seldom, and so gets more time
/// than the clock alone would give it. The pauses between the looks grow, from five milliseconds to a tenth of a second,
/// so both take about as long on an idle machine. It also ends when the task is cancelled.
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
        guard let pause = patience.pause() else { break }
        try? await Task.sleep(for: pause)
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
        guard let pause = patience.pause() else { break }
        Thread.sleep(forTimeInterval: pause / .seconds(1))
    }
    Issue.record("It did not happen.", sourceLocation: sourceLocation)
    return false
}

/// How long a wait may last, and how often it looks.
private struct Patience {
    private let end = ContinuousClock.now + .seconds(120)
    private var looks = 0

    /// The pause before the next look; nil when there is to be none.
    mutating func pause() -> Duration? {
        looks += 1
        // Outside of a task nothing is cancelled.
        guard !Task.isCancelled, looks < 2_000 || ContinuousClock.now < end else { return nil }
        return .milliseconds(min(5 + looks / 20, 100))
    }
}
