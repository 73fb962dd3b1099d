// SPDX-License-Identifier: Apache-2.0

/// Writes the zsh completion function from the command table.
enum ZshCompletion {
    static func script(for schemas: [CommandSchema]) -> String {
        let commands = schemas.map { "        '\($0.name):\(escaped($0.summary))'" }
        return """
            #compdef divan
            # zsh completion for divan. Use it with: source <(divan completions zsh)

            _divan() {
                local context state line
                typeset -A opt_args
                local -a commands
                commands=(
            \(commands.joined(separator: "\n"))
                )
                _arguments -C '--help[Show help.]' '--version[Print the version.]' \\
                    '1:command:->command' '*::argument:->arguments'
                case $state in
                command) _describe command commands ;;
                arguments)
                    case $words[1] in
            \(schemas.map(arguments).joined(separator: "\n"))
                    help) _describe command commands ;;
                    esac
                    ;;
                esac
            }

            if [[ $funcstack[1] == _divan ]]; then
                _divan "$@"
            else
                compdef _divan divan
            fi

            """
    }

    private static func arguments(of schema: CommandSchema) -> String {
        let specifications =
            schema.allOptions.map(option)
            + schema.arguments.enumerated().map { argument($1, at: $0 + 1) }
        let lines = specifications.map { "            \($0)" }.joined(separator: " \\\n")
        return "        \(schema.name)) _arguments -s \\\n\(lines) ;;"
    }

    private static func option(_ option: OptionSchema) -> String {
        let value = option.valueName.map { ":\($0):\(action(option.completion))" } ?? ""
        let text = "[\(escaped(option.summary))]\(value)"
        let star = option.repeats ? "*" : ""
        guard let letter = option.letter else { return "'\(star)--\(option.name)\(text)'" }
        let both = option.repeats ? "'*'" : "'(-\(letter) --\(option.name))'"
        return "\(both){-\(letter),--\(option.name)}'\(text)'"
    }

    private static func argument(_ argument: ArgumentSchema, at position: Int) -> String {
        let place =
            switch argument.count {
            case .required: "\(position):"
            case .optional: "\(position)::"
            case .oneOrMore, .zeroOrMore: "*:"
            }
        return "'\(place)\(argument.name):\(action(argument.completion))'"
    }

    private static func action(_ completion: CompletionKind) -> String {
        switch completion {
        case .nothing: " "
        case .database: "_files -/"
        case .file: "_files"
        case .choices(let choices): "(\(choices.joined(separator: " ")))"
        }
    }

    /// Brackets and colons divide the parts of a specification, and a quotation mark would end it.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "[", "]", ":", "\\": result += "\\\(character)"
            case "'": result += "'\\''"
            default: result.append(character)
            }
        }
        return result
    }
}
