// SPDX-License-Identifier: Apache-2.0

// A code of 29 by 29 modules would take 37 lines if each module were a character, and be twice as high as wide. So a
// character shows two modules, one above the other, and each is about a square:
//
//     upper light, lower light    upper dark, lower light    upper light, lower dark    both dark
//     on a light background:      U+2580 (upper half)        U+2584 (lower half)        U+2588 (full)    else a space
//     on a dark background:       the same with light and dark exchanged: characters are drawn in the light colour
//
// A drawing for the wrong background is inverted: its quiet zone is dark, and few readers take it.

extension QRCode {
    /// The background of a terminal, for which a drawing is made.
    public enum TerminalBackground: Sendable, CaseIterable {
        /// Any background: the drawing sets both colours by escape sequences (ISO 6429), black on white.
        case any
        /// A background that is darker than the characters. The drawing has no escape sequences.
        case dark
        /// A background that is lighter than the characters. The drawing has no escape sequences.
        case light
    }

    /// Draws the code for a terminal, with its quiet zone, two modules in each character.
    ///
    /// ```swift
    /// print(code.terminal(), terminator: "")
    /// ```
    ///
    /// `.any` is the default, because a program cannot know the colours of a terminal, and a drawing for the wrong background
    /// comes out inverted, which most readers refuse. It sets black and white by their fixed places in the palette
    /// of 256 colours, since themes give the first sixteen other colours. Use `.dark` or `.light`, after asking which it is, where
    /// escape sequences are not wanted: in a file, in a pipe, or in a terminal that calls itself `dumb`.
    ///
    /// - Parameter background: The background of the terminal.
    /// - Returns: Lines, each ended by a line feed: `(side + 9) / 2` lines of `side + 8` characters.
    public func terminal(on background: TerminalBackground = .any) -> String {
        let last = side + Self.quietZone
        let drawsDark = background != .dark
        var text = ""
        for y in stride(from: -Self.quietZone, to: last, by: 2) {
            if background == .any { text += Self.blackOnWhite }
            for x in -Self.quietZone..<last {
                text += Self.character(
                    upper: isDark(x: x, y: y) == drawsDark,
                    lower: isDark(x: x, y: y + 1) == drawsDark)
            }
            // The colours end before the line does: some terminals fill the rest of the line with them.
            if background == .any { text += Self.reset }
            text += "\n"
        }
        return text
    }

    private static let blackOnWhite = "\u{1B}[38;5;16;48;5;231m"
    private static let reset = "\u{1B}[0m"

    /// The character whose halves are drawn or left to the background.
    private static func character(upper: Bool, lower: Bool) -> String {
        switch (upper, lower) {
        case (true, true): "\u{2588}"
        case (true, false): "\u{2580}"
        case (false, true): "\u{2584}"
        case (false, false): " "
        }
    }
}
