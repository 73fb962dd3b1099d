// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// What may be written to one output: colours, a bar that redraws itself, how many columns.
struct Terminal: Sendable, Equatable {
    enum ColorChoice: String, CaseIterable, Sendable {
        case auto, always, never
    }

    /// Whether the output is a terminal at all. A file or a pipe gets plain lines.
    var isInteractive = false
    var allowsColor = false
    /// Whether the terminal is known to show more than ASCII.
    var allowsUnicode = false
    var width = 80

    static let none = Terminal()

    init() {}

    /// Decides from the descriptor, the environment and the user's choice.
    ///
    /// A `NO_COLOR` that is set and not empty takes colours away (no-color.org), as does a terminal
    /// called "dumb"; `--color always` puts them back, for a pager.
    init(
        isInteractive: Bool, width: Int?, environment: EnvironmentVariables, choice: ColorChoice
    ) {
        let name = environment["TERM"] ?? ""
        let wantsNone = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        self.isInteractive = isInteractive && name != "dumb"
        switch choice {
        case .always: allowsColor = true
        case .never: allowsColor = false
        case .auto: allowsColor = self.isInteractive && !name.isEmpty && !wantsNone
        }
        // The locale's categories outrank each other in this order; an empty one counts as unset.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }
            .first { !$0.isEmpty }
        let encoding = locale?.uppercased() ?? ""
        allowsUnicode = encoding.contains("UTF-8") || encoding.contains("UTF8")
        self.width = width ?? environment["COLUMNS"].flatMap { Int($0, radix: 10) } ?? 80
    }

    init(descriptor: Int32, environment: EnvironmentVariables, choice: ColorChoice) {
        self.init(
            isInteractive: TerminalDevice.isTerminal(descriptor),
            width: TerminalDevice.width(descriptor),
            environment: environment,
            choice: choice)
    }
}

/// The colours of the tool, by meaning.
enum TextStyle: String, Sendable {
    case key = "34"
    case string = "32"
    case number = "36"
    case literal = "35"
    case faint = "2"
    case strong = "1"
    case good = "1;32"
    case warning = "33"
    case error = "1;31"

    static let reset = "\u{1B}[0m"

    var start: String { "\u{1B}[\(rawValue)m" }
}

extension Terminal {
    /// Returns text in a style, or unchanged where colours are not wanted.
    func styled(_ text: String, _ style: TextStyle) -> String {
        allowsColor ? style.start + text + TextStyle.reset : text
    }
}

/// Makes text safe to print.
///
/// A document ID may hold any character but NUL: line feeds, or the escape sequences by which text
/// recolours, retitles or rewrites a terminal. Control characters are shown as `\u{1B}`.
enum PrintableText {
    static func escaping(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case let scalar where isControl(scalar):
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// C0, DEL and C1, and the marks that reorder what stands beside them.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069, 0x2028, 0x2029: true
        default: false
        }
    }
}
