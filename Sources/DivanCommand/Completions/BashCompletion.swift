// SPDX-License-Identifier: Apache-2.0

/// Writes the bash completion script from the command table.
enum BashCompletion {
    static func script(for schemas: [CommandSchema]) -> String {
        let names = schemas.map(\.name).joined(separator: " ")
        return """
            # bash completion for divan. Use it with: source <(divan completions bash)

            _divan_choices() {
                COMPREPLY=($(compgen -W "$1" -- "$current"))
            }

            _divan_files() {
                compopt -o filenames 2>/dev/null
                local IFS=$'\\n'
                COMPREPLY=($(compgen "$1" -- "$current"))
            }

            # Completes the value of an option; false if the word before is not one that takes any.
            _divan_value() {
                case "$command $1" in
            \(indent(schemas.flatMap(values), by: 8))
                    *) return 1 ;;
                esac
                return 0
            }

            _divan() {
                local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
                local position=0 i options
                COMPREPLY=()
                if ((COMP_CWORD == 1)); then
                    _divan_choices "\(names) help --help --version"
                    return
                fi
                _divan_value "${COMP_WORDS[COMP_CWORD - 1]}" && return
                case $command in
            \(indent(schemas.map(optionList), by: 8))
                    help) _divan_choices "\(names)"; return ;;
                    *) return ;;
                esac
                if [[ $current == -* ]]; then
                    _divan_choices "$options"
                    return
                fi
                for ((i = 2; i < COMP_CWORD; i++)); do
                    if _divan_value "${COMP_WORDS[i]}"; then ((i++));
                    elif [[ ${COMP_WORDS[i]} != -?* ]]; then ((position++)); fi
                done
                COMPREPLY=()
                case "$command $position" in
            \(indent(schemas.flatMap(positions), by: 8))
                esac
            }

            complete -F _divan divan

            """
    }

    private static func values(of schema: CommandSchema) -> [String] {
        schema.allOptions.filter { $0.valueName != nil }.map { option in
            let long = "\"\(schema.name) --\(option.name)\""
            let short = option.letter.map { "|\"\(schema.name) -\($0)\"" } ?? ""
            return "\(long)\(short)) \(action(option.completion)) ;;"
        }
    }

    private static func optionList(of schema: CommandSchema) -> String {
        let names = schema.allOptions.map { "--\($0.name)" }.joined(separator: " ")
        return "\(schema.name)) options=\"\(names)\" ;;"
    }

    private static func positions(of schema: CommandSchema) -> [String] {
        schema.arguments.enumerated().compactMap { position, argument in
            guard argument.completion != .nothing else { return nil }
            let isLast = argument.count == .oneOrMore || argument.count == .zeroOrMore
            let pattern = isLast ? "\"\(schema.name) \"*" : "\"\(schema.name) \(position)\""
            return "\(pattern)) \(action(argument.completion)) ;;"
        }
    }

    private static func action(_ completion: CompletionKind) -> String {
        switch completion {
        case .nothing: ":"
        // A database is a directory, and so is what leads to one.
        case .database: "_divan_files -d"
        case .file: "_divan_files -f"
        case .choices(let choices): "_divan_choices \"\(choices.joined(separator: " "))\""
        }
    }

    private static func indent(_ lines: [String], by columns: Int) -> String {
        lines.map { String(repeating: " ", count: columns) + $0 }.joined(separator: "\n")
    }
}
