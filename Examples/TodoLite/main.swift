// SPDX-License-Identifier: Apache-2.0

import Foundation

// A task list that two people keep on two machines. Read in this order: TodoTask, TodoBook, Household, TodoApp.
do {
    guard let options = try TodoOptions(CommandLine.arguments.dropFirst()) else {
        print(TodoOptions.usage)
        exit(0)
    }
    try await TodoApp(options).run()
} catch {
    FileHandle.standardError.write(Data("todolite: \(sentence(of: error))\n".utf8))
    exit(1)
}
