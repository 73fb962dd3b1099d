// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The terminal that a program was started from.
package enum TerminalDevice {
    /// Whether a descriptor is a terminal.
    ///
    /// - Parameter descriptor: The descriptor.
    /// - Returns: Whether it is.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// How many characters a line of a terminal has.
    ///
    /// - Parameter descriptor: The terminal.
    /// - Returns: The number; nil when it is no terminal or does not tell.
    package static func width(_ descriptor: Int32) -> Int? {
        var size = winsize()
        // SAFETY: TIOCGWINSZ fills the structure that it is lent.
        guard unsafe ioctl(descriptor, UInt(clamping: TIOCGWINSZ), &size) == 0 else { return nil }
        return size.ws_col > 0 ? Int(clamping: size.ws_col) : nil
    }

    /// Asks at the terminal for a line, which it does not show while it is typed.
    ///
    /// The terminal is the one that the process was started from, whatever its inputs are.
    ///
    /// - Parameters:
    ///   - question: What it shows first.
    ///   - isInterrupted: Whether there is no use in waiting any more; asked a few times a second.
    /// - Returns: The bytes of the line; nil when it was interrupted. The terminal is then as it was.
    /// - Throws: `SystemError` when there is no terminal.
    package static func readSecret(
        asking question: String, unless isInterrupted: () -> Bool
    ) throws(SystemError) -> [UInt8]? {
        let path = "/dev/tty"
        let terminal = try Descriptors.open(path, [.read, .write, .waits])
        defer { Descriptors.close(terminal) }
        var shown = termios()
        // SAFETY: tcgetattr fills the structure that it is lent.
        if unsafe tcgetattr(terminal, &shown) != 0 { throw SystemError("tcgetattr", path) }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Hidden before the question is shown, so that an answer that comes at once, as from a program, is not
        // shown either, nor thrown away.
        // SAFETY: the structures are alive for the time of the calls.
        if unsafe tcsetattr(terminal, TCSAFLUSH, &hidden) != 0 {
            throw SystemError("tcsetattr", path)
        }
        defer { unsafe _ = tcsetattr(terminal, TCSADRAIN, &shown) }
        let text = Array(question.utf8)
        try Descriptors.writeAll(text.span, to: terminal)
        var line: [UInt8] = []
        var byte: [UInt8] = [0]
        while !isInterrupted() {
            guard Descriptors.waitUntilReadable(terminal, milliseconds: 100) else { continue }
            guard try Descriptors.readSome(terminal, into: &byte) == 1,
                byte[0] != UInt8(ascii: "\n")
            else { break }
            line.append(byte[0])
        }
        try Descriptors.writeAll([UInt8(ascii: "\n")].span, to: terminal)
        return isInterrupted() ? nil : line
    }
}
