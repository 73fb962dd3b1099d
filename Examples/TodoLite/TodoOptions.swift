// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The arguments of the program.
struct TodoOptions {
    static let usage = """
        usage: todolite [FOLDER] [--name NAME] [--loopback]

          FOLDER        where the tasks are kept; 'todolite' in the current folder unless given
          --name NAME   how other devices call this one; kept from then on
          --loopback    be there for programs on this machine only
        """

    var folder = URL(filePath: "todolite")
    var name: String?
    /// The address that other devices reach this one at.
    var host = "0.0.0.0"

    /// - Returns: nil when help is asked for.
    init?(_ arguments: some Sequence<String>) throws {
        var words = Array(arguments)[...]
        var folders: [String] = []
        while let word = words.popFirst() {
            switch word {
            case "--help", "-h": return nil
            case "--loopback": host = "127.0.0.1"
            case "--name":
                guard let value = words.popFirst() else { throw TodoError("--name needs a name.") }
                name = value
            case _ where word.hasPrefix("-"):
                throw TodoError("There is no option '\(word)'; see: todolite --help")
            default: folders.append(word)
            }
        }
        guard folders.count < 2 else { throw TodoError("Name one folder, not \(folders.count).") }
        if let path = folders.first { folder = URL(filePath: path) }
    }
}
