// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPeers
import Foundation

/// The program: it takes commands, and draws the list anew whenever this device or another one has changed it.
@MainActor final class TodoApp {
    /// What the screen shows.
    private enum Content {
        case list(TodoList)
        case found(words: String)
    }

    private let manager: Manager
    private let book: TodoBook
    private let household: Household
    private let screen = Screen()
    private var content: Content
    /// The tasks that the screen shows, by whose numbers commands name them.
    private var shown: [TodoTask] = []
    /// Whether a device may join: the question that is open.
    private var question: CheckedContinuation<Bool, Never>?

    init(_ options: TodoOptions) throws {
        try FileManager.default.createDirectory(
            at: options.folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        // Warnings go to a file, since they would tear the screen.
        Log.replaceSinks(by: [RotatingFileSink(path: options.folder.path + "/todolite.log")])
        manager = try Manager(directory: options.folder)
        book = try TodoBook(manager)
        household = try Household(manager, sharing: book.database, options)
        content = .list(try book.list(named: "Tasks"))
    }

    /// Runs commands until the user leaves.
    func run() async {
        let followers = screen.isTerminal ? [follow(household.statuses), followTasks()] : []
        refresh()
        for await line in Screen.lines() {
            screen.clear()
            do {
                if try await !perform(TodoCommand(line)) { break }
            } catch { screen.say(sentence(of: error)) }
            refresh()
        }
        for follower in followers { follower.cancel() }
        answer(false)
        await household.leave()
        manager.close()
    }

    // MARK: - What changes

    /// Draws anew whenever a task changes, whichever device has changed it.
    private func followTasks() -> Task<Void, Never> {
        Task {
            do {
                for try await _ in try book.database.live(TodoTask.self) { refresh() }
            } catch { screen.say(sentence(of: error)) }
        }
    }

    /// Draws anew whenever another device comes or goes.
    private func follow(_ statuses: AsyncStream<[PeerStatus]>) -> Task<Void, Never> {
        Task {
            var last: [String] = []
            for await people in statuses {
                let lines = people.map { "\($0.peer.name) is \($0.words)" }
                if lines != last { refresh() }
                last = lines
            }
        }
    }

    /// Draws what the terminal shows as it is now.
    private func refresh() {
        guard screen.isTerminal else { return }
        do { try show(content) } catch { screen.say(sentence(of: error)) }
        screen.draw(lines())
    }

    private func show(_ content: Content) throws {
        shown =
            switch content {
            case .list(let list): try book.tasks(in: list)
            case .found(let words): try book.tasks(with: words)
            }
        self.content = content
    }

    // MARK: - Commands

    /// Does what a command says; false when it is to leave.
    private func perform(_ command: TodoCommand) async throws -> Bool {
        // A pipe has no screen: its numbers are those of the tasks as they are now.
        if !screen.isTerminal { try show(content) }
        switch command {
        case .quit: return false
        case .nothing: break
        case .help: screen.say(TodoCommand.guide)
        case .add(let title):
            try book.add(printable(title), to: list(), by: household.device.name)
        case .done(let numbers): for task in try chosen(numbers) { try book.toggle(task) }
        case .remove(let numbers): for task in try chosen(numbers) { try book.remove(task) }
        case .photo(let number, let path): try photo(of: chosen([number])[0], path)
        case .list(let name):
            try show(.list(book.list(named: name.map(printable) ?? list().name)))
            tell()
        case .lists: for list in try book.lists() { screen.say(printable(list.name)) }
        case .find(let words):
            try show(.found(words: words))
            tell()
        case .share: try share()
        case .join(let link):
            let peer = try await household.join(link) { code in
                Task { @MainActor [self] in
                    screen.say("The other screen shows \(code), too.")
                    screen.say("Its user is asked whether you may join.")
                    refresh()
                }
            }
            screen.say("You share your tasks with \(peer.name) now.")
        case .answer(let isYes):
            guard question != nil else { throw TodoError("No device asks to join.") }
            answer(isYes)
        case .people:
            if household.people.isEmpty {
                screen.say("Only this device has the tasks; type: share")
            }
            for person in household.people { screen.say("\(person.peer.name): \(person.words)") }
        case .forget(let name):
            try household.forget(name)
            screen.say("\(name) is let in no more. What it has, it keeps.")
        }
        return true
    }

    /// The list that new tasks go to.
    private func list() throws -> TodoList {
        guard case .list(let list) = content else {
            throw TodoError("Go to a list first, with: list NAME")
        }
        return list
    }

    private func chosen(_ numbers: [Int]) throws -> [TodoTask] {
        try numbers.map { number in
            guard shown.indices.contains(number - 1) else {
                throw TodoError("There is no task \(number) on the screen.")
            }
            return shown[number - 1]
        }
    }

    private func photo(of task: TodoTask, _ path: String?) throws {
        if let path {
            try book.attach(URL(filePath: path), to: task)
        } else {
            let file = try book.savePhoto(of: task, in: URL(filePath: "."))
            screen.say("Saved as \(file.lastPathComponent).")
        }
    }

    private func share() throws {
        let link = try household.invite { [self] candidate in await ask(candidate) }
        if screen.isTerminal { screen.say(try link.qrCode().terminal()) }
        screen.say(link.text)
    }

    /// Asks the user whether a device may join, and waits for the answer, which is the next `yes` or `no`.
    private func ask(_ candidate: PairingCandidate) async -> Bool {
        answer(false)
        screen.clear()
        screen.say("\(candidate.name) wants to join.")
        screen.say("Does its screen show \(candidate.code)? Type yes or no.")
        refresh()
        return await withCheckedContinuation { question = $0 }
    }

    private func answer(_ isYes: Bool) {
        question?.resume(returning: isYes)
        question = nil
    }

    // MARK: - The list in words

    /// A pipe is told the tasks when it asks; a terminal shows them all the time.
    private func tell() {
        if !screen.isTerminal { for line in lines() { screen.say(line) } }
    }

    private func lines() -> [String] {
        let title =
            switch content {
            case .list(let list): printable(list.name)
            case .found(let words): "Found: \(printable(words))"
            }
        let open = shown.count { !$0.isDone }
        let here = household.people.filter { $0.presence == .connected }.map(\.peer.name)
        let company = here.isEmpty ? "" : ", with \(here.joined(separator: " and "))"
        return ["\(title): \(open) of \(shown.count) to do\(company)"]
            + shown.enumerated().map { number, task in
                "\(number + 1). [\(task.isDone ? "x" : " ")] \(printable(task.title))"
                    + "  (\(printable(task.by))\(task.photo == nil ? "" : ", photo"))"
            }
    }
}
