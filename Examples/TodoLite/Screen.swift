// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The terminal, or the pipe in its place.
///
/// A terminal shows the list, then what there is to say, then the prompt, and is drawn anew when something has changed. A pipe gets the
/// answers to its commands, each when it is there.
@MainActor final class Screen {
    let isTerminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
    private var said: [String] = []

    /// Says something below the list.
    func say(_ text: String) {
        if isTerminal { said.append(text) } else { write(text + "\n") }
    }

    /// Forgets what was said: the next command has come.
    func clear() { said = [] }

    /// Draws a terminal. What is being typed stays with the terminal; Ctrl-R shows it again.
    func draw(_ lines: [String]) {
        guard isTerminal else { return }
        let home = "\u{1B}[H\u{1B}[2J"
        write(home + (lines + [""] + said).joined(separator: "\n") + "\n> ")
    }

    private func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// The lines that are typed, or that come through the pipe.
    static func lines() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream<String>.makeStream()
        // `readLine` waits, which a task must not do.
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return stream
    }
}
