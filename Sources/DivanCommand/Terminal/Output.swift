// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// The two outputs of a command, and what each of them can show.
///
/// Results go to standard output, in a form that another program can read; errors, remarks and
/// progress go to standard error.
struct Output: Sendable {
    let out: ByteSink
    let err: ByteSink
    let outTerminal: Terminal
    let errTerminal: Terminal
    /// Whether `--quiet` was given.
    var isQuiet = false

    /// An output in memory, for tests.
    static func inMemory(_ terminal: Terminal = .none) -> Output {
        Output(
            out: ByteSink(descriptor: nil), err: ByteSink(descriptor: nil),
            outTerminal: terminal, errTerminal: terminal)
    }

    /// The process's own outputs.
    static func standard(
        environment: EnvironmentVariables, choice: Terminal.ColorChoice, isQuiet: Bool
    ) -> Output {
        let out = Descriptors.standardOutput
        let err = Descriptors.standardError
        return Output(
            out: ByteSink(descriptor: out, flushesEachWrite: TerminalDevice.isTerminal(out)),
            err: ByteSink(descriptor: err, flushesEachWrite: true),
            outTerminal: Terminal(descriptor: out, environment: environment, choice: choice),
            errTerminal: Terminal(descriptor: err, environment: environment, choice: choice),
            isQuiet: isQuiet)
    }

    /// Prints one line of the result.
    func line(_ text: String) throws(CommandFailure) {
        try out.write(text + "\n")
    }

    /// Prints a remark for a person on standard error, unless `--quiet` forbids it.
    func remark(_ text: String) {
        if !isQuiet { complain(text) }
    }

    /// Prints a line on standard error. That it may fail is ignored: there is nowhere to say so.
    func complain(_ text: String) {
        try? err.write(text + "\n")
    }

    /// Prints the sentence that a failed command ends with.
    func failure(_ message: String) {
        complain(errTerminal.styled("divan:", .error) + " " + PrintableText.escaping(message))
    }

    /// Prints a JSON value: indented and coloured on a terminal, else as it came, on one line.
    func json(_ text: [UInt8], pretty: Bool? = nil) throws(CommandFailure) {
        var bytes = text
        if pretty ?? outTerminal.isInteractive {
            bytes = JSONLayout.indented(text.span, colored: outTerminal.allowsColor)
        } else if outTerminal.allowsColor || outTerminal.isInteractive {
            bytes = JSONLayout.compact(text.span, colored: outTerminal.allowsColor)
        }
        bytes.append(UInt8(ascii: "\n"))
        try out.write(bytes)
    }
}
