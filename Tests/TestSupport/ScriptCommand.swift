// SPDX-License-Identifier: Apache-2.0

/// One line of a golden script: a word, arguments, and options like `limit=3`.
public struct ScriptCommand: Sendable {
    /// The whole line.
    public let text: String

    /// The first word.
    public let name: String

    /// The further words that are no options.
    public let arguments: [String]

    /// The words of the form `name=value`.
    public let options: [String: String]

    /// Splits a line at its spaces.
    public init(_ text: String) {
        self.text = text
        let words = text.split(separator: " ").map(String.init)
        name = words.first ?? ""
        var arguments: [String] = []
        var options: [String: String] = [:]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 {
                options[parts[0]] = parts[1]
            } else {
                arguments.append(word)
            }
        }
        self.arguments = arguments
        self.options = options
    }

    /// A command that the interpreter does not know, or cannot make sense of.
    public struct Unknown: Error, CustomStringConvertible {
        /// One sentence.
        public let description: String

        /// Refuses a command.
        public init(_ command: ScriptCommand) {
            description = "The command \"\(command.text)\" is not understood."
        }
    }
}
