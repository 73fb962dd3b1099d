// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the user types.
enum TodoCommand {
    case add(String), done([Int]), remove([Int]), photo(Int, file: String?)
    case list(String?), lists, find(String)
    case share, join(String), answer(Bool), people, forget(String)
    case help, quit, nothing

    static let guide = """
        add TEXT         add a task to this list
        done N …         mark tasks as done, or as not done
        remove N …       remove tasks
        photo N FILE     attach a picture to a task
        photo N          save the picture of a task in the current folder
        list [NAME]      show this list, or go to another one
        lists            show all lists
        find WORDS       find tasks of all lists by the words in them
        share            show a link and a code, with which one other device joins
        join LINK        join the device that made a link
        yes, no          say whether a device may join
        people           show who shares the tasks, and who is here
        forget NAME      let a device in no more
        quit             leave
        """

    init(_ line: String) throws {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let rest = words.dropFirst().first?.trimmingCharacters(in: .whitespaces) ?? ""
        func needed(_ what: String) throws -> String {
            guard !rest.isEmpty else { throw TodoError("Say \(what) after '\(words[0])'.") }
            return rest
        }
        switch words.first?.lowercased() {
        case nil: self = .nothing
        case "add": self = .add(try needed("the task"))
        case "done": self = .done(try Self.numbers(needed("the number of a task")))
        case "remove": self = .remove(try Self.numbers(needed("the number of a task")))
        case "photo":
            let parts = try needed("the number of a task").split(separator: " ", maxSplits: 1)
            let number = try Self.numbers(String(parts[0]))[0]
            self = .photo(
                number,
                file: parts.dropFirst().first.map(String.init)?.trimmingCharacters(in: .whitespaces)
            )
        case "list": self = .list(rest.isEmpty ? nil : rest)
        case "lists": self = .lists
        case "find": self = .find(try needed("the words"))
        case "share": self = .share
        case "join": self = .join(try needed("the link"))
        case "yes": self = .answer(true)
        case "no": self = .answer(false)
        case "people": self = .people
        case "forget": self = .forget(try needed("the name of the device"))
        case "help": self = .help
        case "quit", "exit": self = .quit
        default: throw TodoError("There is no command '\(words[0])'; type: help")
        }
    }

    private static func numbers(_ text: String) throws -> [Int] {
        try text.split(separator: " ").map { word in
            guard let number = Int(word) else {
                throw TodoError("'\(word)' is no number of a task.")
            }
            return number
        }
    }
}
