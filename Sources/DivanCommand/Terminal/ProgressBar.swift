// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Draws a `ProgressLine` over itself on a terminal, ten times a second at most.
///
/// On anything but a terminal it draws nothing. Callbacks may come from any thread.
final class ProgressBar: Sendable {
    /// Ten a second: smooth to the eye, and nothing beside the work.
    static let interval = Duration.milliseconds(100)

    private struct State {
        var line: ProgressLine
        var lastDrawn: Duration?
        var isVisible = false
    }

    /// Everything that changes, guarded by its lock.
    private let state: Mutex<State>
    private let output: Output
    /// Time since the bar was made; injected so that tests need not wait.
    private let elapsed: @Sendable () -> Duration

    init(
        _ title: String, noun: String, output: Output,
        elapsed: (@Sendable () -> Duration)? = nil
    ) {
        let start = ContinuousClock.now
        self.output = output
        self.elapsed = elapsed ?? { ContinuousClock.now - start }
        state = Mutex(State(line: ProgressLine(title: title, noun: noun)))
    }

    /// Notes how far the work has come, and draws if it is time to.
    func update(
        title: String? = nil, completed: Int? = nil, total: Int? = nil, count: Int? = nil
    ) {
        state.withLock { state in
            if let title { state.line.title = title }
            if let completed { state.line.completed = completed }
            if let total { state.line.total = total }
            if let count { state.line.count = count }
            drawIfDue(&state)
        }
    }

    /// Prints a line above the bar.
    func printAbove(_ text: String) {
        state.withLock { state in
            erase(&state)
            output.complain(text)
            state.lastDrawn = nil
        }
    }

    /// Prints a line above the bar, unless the user wants it quiet.
    func remarkAbove(_ text: String) {
        state.withLock { state in
            erase(&state)
            output.remark(text)
            state.lastDrawn = nil
        }
    }

    /// Removes the bar and returns its last figures.
    @discardableResult
    func finish() -> ProgressLine {
        state.withLock { state in
            erase(&state)
            state.line.elapsed = elapsed()
            return state.line
        }
    }

    private func drawIfDue(_ state: inout State) {
        guard output.errTerminal.isInteractive, !output.isQuiet else { return }
        let now = elapsed()
        if let last = state.lastDrawn, now - last < Self.interval { return }
        state.lastDrawn = now
        state.line.elapsed = now
        let text = state.line.text(
            width: output.errTerminal.width, unicode: output.errTerminal.allowsUnicode)
        // Return, the line, then clear what a longer line may have left behind it.
        try? output.err.write("\r\(text)\u{1B}[K")
        state.isVisible = true
    }

    private func erase(_ state: inout State) {
        guard state.isVisible else { return }
        try? output.err.write("\r\u{1B}[K")
        state.isVisible = false
    }
}
