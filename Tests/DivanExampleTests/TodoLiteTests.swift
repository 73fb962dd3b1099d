// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

/// The program in Examples/TodoLite, as two people use it.
@Suite(.timeLimit(.minutes(10))) struct TodoLiteTests {
    private let program: ExampleProgram

    init() throws { program = try ExampleProgram("DivanTodoLite") }

    private func start(_ name: String) throws -> TerminalSession {
        try program.start([name.lowercased(), "--name", name, "--loopback"])
    }

    /// What the program answers to commands through a pipe.
    private func answers(_ commands: String, in folder: String = "here") throws -> String {
        try program.run([folder, "--name", "Ann", "--loopback"], input: commands).text
    }

    /// The link that a terminal shows.
    private func link(on session: TerminalSession) async throws -> String {
        session.type("share")
        try #require(await session.shows("&x="))
        let lines = session.screen.split { $0.isNewline }.map(String.init)
        return try #require(lines.first { $0.hasPrefix("divan://") })
    }

    private func pair(_ host: TerminalSession, _ guest: TerminalSession) async throws {
        guest.type("join \(try await link(on: host))")
        try #require(await host.shows("Type yes or no."))
        host.type("yes")
        try #require(await guest.shows("You share your tasks with "))
    }

    @Test func `two people who have paired see each other's tasks as they are added and done`()
        async throws
    {
        let (ann, bob) = (try start("Ann"), try start("Bob"))
        ann.type("add Milk")
        #expect(await ann.shows("1. [ ] Milk  (Ann)"))
        try await pair(ann, bob)
        // Both screens show the same digits.
        let shown = try #require(bob.text.firstMatch(of: /shows ([0-9]{3} [0-9]{3}), too/))
        #expect(ann.text.contains("Bob wants to join.\r\nDoes its screen show \(shown.1)?"))
        #expect(await bob.shows("Tasks: 1 of 1 to do, with Ann"))
        #expect(await bob.shows("1. [ ] Milk  (Ann)"))
        bob.type("add Bread")
        #expect(await ann.shows("2. [ ] Bread  (Bob)"))
        ann.type("done 2")
        #expect(await bob.shows("2. [x] Bread  (Bob)"))
        bob.type("remove 1")
        #expect(await ann.shows("Tasks: 0 of 1 to do, with Bob"))
        bob.type("people")
        #expect(await bob.shows("Ann: here"))
        #expect(await ann.quit() == 0)
        // Bob sees her leave, and works on.
        #expect(await bob.shows("Tasks: 0 of 1 to do\r\n"))
        #expect(await bob.quit() == 0)
    }

    @Test func `a photo comes over with its task, and what both have done apart is merged`()
        async throws
    {
        let photo = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try program.write(photo, to: "cake.jpg")
        var (ann, bob) = (try start("Ann"), try start("Bob"))
        ann.type("add Cake")
        try await pair(ann, bob)
        #expect(await bob.shows("1. [ ] Cake  (Ann)"))
        #expect(await ann.quit() == 0)
        // Each changes the same task while the other one is not there.
        #expect(await bob.shows("Tasks: 1 of 1 to do\r\n"))
        bob.type("photo 1 cake.jpg")
        #expect(await bob.shows("1. [ ] Cake  (Ann, photo)"))
        #expect(await bob.quit() == 0)
        ann = try start("Ann")
        ann.type("done 1")
        #expect(await ann.shows("1. [x] Cake  (Ann)"))
        bob = try start("Bob")
        #expect(await ann.shows("1. [x] Cake  (Ann, photo)"))
        #expect(await bob.shows("1. [x] Cake  (Ann, photo)"))
        ann.type("photo 1")
        #expect(await ann.shows("Saved as 2-cake.jpg."))
        #expect(try Data(contentsOf: program.file("2-cake.jpg")) == Data(photo))
        #expect(await ann.quit() == 0)
        #expect(await bob.quit() == 0)
        // Nothing is left in conflict.
        for folder in ["ann", "bob"] {
            let database = try Database.open(at: program.file("\(folder)/todo.divan"))
            #expect(try !database.hasConflicts())
            database.close()
        }
    }

    @Test func `lists of one name are one list once two people meet, also if both had begun it`()
        async throws
    {
        let (ann, bob) = (try start("Ann"), try start("Bob"))
        ann.type("list Groceries")
        ann.type("add Milk")
        bob.type("list Groceries")
        bob.type("add Bread")
        #expect(await bob.shows("1. [ ] Bread  (Bob)"))
        try await pair(ann, bob)
        #expect(await ann.shows("Groceries: 2 of 2 to do, with Bob"))
        #expect(await bob.shows("Groceries: 2 of 2 to do, with Ann"))
        #expect(await ann.quit() == 0)
        #expect(await bob.quit() == 0)
    }

    @Test func `a device that the user says no to does not join, and is told so`() async throws {
        let (ann, bob) = (try start("Ann"), try start("Bob"))
        ann.type("add Secret")
        let link = try await link(on: ann)
        bob.type("join \(link)")
        try #require(await ann.shows("Type yes or no."))
        ann.type("no")
        #expect(await bob.shows("The other device declined"))
        ann.type("people")
        #expect(await ann.shows("Only this device has the tasks"))
        #expect(await ann.quit() == 0)
        #expect(await bob.quit() == 0)
        #expect(!bob.text.contains("Secret"))
    }

    @Test func `a device that is forgotten gets nothing more, and keeps what it has`()
        async throws
    {
        let (ann, bob) = (try start("Ann"), try start("Bob"))
        try await pair(ann, bob)
        ann.type("add Milk")
        #expect(await bob.shows("Milk"))
        ann.type("forget Bob")
        #expect(await ann.shows("Bob is let in no more."))
        ann.type("add Secret")
        #expect(await bob.shows("Tasks: 1 of 1 to do\r\n"))
        ann.type("people")
        #expect(await ann.shows("Only this device has the tasks"))
        #expect(await ann.quit() == 0)
        #expect(await bob.quit() == 0)
        #expect(!bob.text.contains("Secret"))
    }

    @Test func `commands that come through a pipe are answered, and the tasks are kept`() throws {
        #expect(
            try answers("add Call Eve \nadd Write report\ndone 2\nlist\n") == """
                Tasks: 1 of 2 to do
                1. [ ] Call Eve  (Ann)
                2. [x] Write report  (Ann)

                """)
        #expect(
            try answers("list Work\nadd Reports for Bob\nlists\nfind report\ndone 1\n") == """
                Work: 0 of 0 to do
                Tasks
                Work
                Found: report: 1 of 2 to do
                1. [x] Write report  (Ann)
                2. [ ] Reports for Bob  (Ann)

                """)
    }

    @Test(arguments: [
        ("add", "Say the task after 'add'."),
        ("done 3", "There is no task 3 on the screen."),
        ("done x", "'x' is no number of a task."),
        ("remove 99999999999999999999", "'99999999999999999999' is no number of a task."),
        ("photo", "Say the number of a task after 'photo'."),
        ("dance", "There is no command 'dance'; type: help"),
        ("find \"a", "The text to search for makes no sense: a quotation mark is not closed."),
        (
            "join hello",
            "The text is no peer link, which begins with divan://; copy or scan it from the other device."
        ),
        ("forget Bob", "No device is called 'Bob'; see them with: people"),
        ("yes", "No device asks to join."),
        ("people", "Only this device has the tasks; type: share"), ("", ""), ("quit", ""),
    ])
    func `what cannot be done is told in one sentence`(_ command: String, _ answer: String) throws {
        #expect(try answers(command + "\n") == (answer.isEmpty ? "" : answer + "\n"))
    }

    @Test func `a photo that is missing, and a list that is found, are told of`() throws {
        let text = try answers("add Cake\nphoto 1\nphoto 1 nothing.jpg\nfind cake\nadd More\n")
        #expect(text.contains("'Cake' has no photo; attach one with: photo N FILE\n"))
        #expect(text.contains("There is no file 'nothing.jpg' that can be read.\n"))
        #expect(text.hasSuffix("Go to a list first, with: list NAME\n"))
    }

    @Test func `a link of a program that has ended, and one of this device, are refused`() throws {
        let link = try answers("share\n", in: "ann")
        #expect(
            try answers("join \(link)")
                == "The other device answers at none of its addresses; bring both into one network and try again.\n"
        )
        #expect(try program.run(["a", "b"]).text == "todolite: Name one folder, not 2.\n")
        #expect(
            try program.run(["--fly"]).text
                == "todolite: There is no option '--fly'; see: todolite --help\n")
        #expect(try program.run(["--help"]).text.hasPrefix("usage: todolite"))
        #expect(try program.run(["/dev/null/x"]).status == 1)
    }

    @Test func `what another device has written neither steers the terminal nor leaves the folder`()
        throws
    {
        _ = try answers("add Milk\n")
        let database = try Database.open(at: program.file("here/todo.divan"))
        let ids = try database.allDocuments().map(\.id)
        let id = try #require(ids.first { !$0.text.hasPrefix("list/") })
        try database.update(id) { task in
            task["title"] = "Milk\u{1B}[2J\u{202E}"
            task["photo"] = "../../..evil\u{7}.sh"
            task.setAttachment(named: "../../..evil\u{7}.sh", contentType: nil, .bytes([1, 2]))
        }
        database.close()
        #expect(
            try answers("list\nphoto 1\nphoto 1\n") == """
                Tasks: 1 of 1 to do
                1. [ ] Milk[2J  (Ann, photo)
                Saved as evil.sh.
                Saved as 2-evil.sh.

                """)
        #expect(try Data(contentsOf: program.file("evil.sh")) == Data([1, 2]))
    }

    @Test(arguments: [
        // Marks that combine with the dots and slashes, and a name that no file system takes.
        ("..\u{301}/\u{301}x.sh", "\u{301}x.sh"), ("a/.\u{301}b.sh", "\u{301}b.sh"),
        (
            String(repeating: "\u{5199}", count: 90) + ".png",
            String(repeating: "\u{5199}", count: 65) + ".png"
        ),
    ])
    func `a photo of any name is saved in the folder, in sight`(name: String, file: String) throws {
        _ = try answers("add Milk\n")
        let database = try Database.open(at: program.file("here/todo.divan"))
        let ids = try database.allDocuments().map(\.id)
        let id = try #require(ids.first { !$0.text.hasPrefix("list/") })
        try database.update(id) { task in
            task["photo"] = Fragment(name)
            task.setAttachment(named: name, contentType: nil, .bytes([1, 2]))
        }
        database.close()
        #expect(try answers("list\nphoto 1\n").contains("Saved as \(file).\n"))
        #expect(try Data(contentsOf: program.file(file)) == Data([1, 2]))
    }
}
