// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// The program in Examples/PhotoDrop: one process receives, others send.
@Suite(.timeLimit(.minutes(10))) struct PhotoDropTests {
    private let program: ExampleProgram

    init() throws { program = try ExampleProgram("DivanPhotoDrop") }

    private func receive(_ folder: String = "album") throws -> TerminalSession {
        try program.start(["receive", folder, "--name", "Ann", "--loopback"])
    }

    private func links(of session: TerminalSession) -> [String] {
        session.text.split { $0.isNewline }.map(String.init).filter { $0.hasPrefix("divan://") }
    }

    private func send(_ link: String, _ files: String...) throws -> (status: Int32, text: String) {
        try program.run(["send", link] + files + ["--name", "Bob", "--loopback"])
    }

    private func picture(_ length: Int, _ name: String, seed: UInt8) throws -> Data {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 13) ^ seed }
        try program.write(bytes, to: name)
        return Data(bytes)
    }

    @Test func `pictures are stored as files, and the sender is told when they are`() async throws {
        let (one, other) = (
            try picture(1_500_000, "one.jpg", seed: 1), try picture(9, "two.png", seed: 2)
        )
        let ann = try receive()
        await eventually { links(of: ann).count == 1 }
        let sent = try send(links(of: ann)[0], "one.jpg", "two.png")
        #expect(sent.status == 0)
        #expect(sent.text.hasSuffix("2 of 2 have arrived.\n"))
        let code = try #require(
            sent.text.firstMatch(of: /^Paired with Ann. Its screen shows ([0-9]{3} [0-9]{3}), too./)
        )
        #expect(ann.text.contains("Bob sends pictures. Its screen shows \(code.1), too."))
        #expect(ann.text.contains("one.jpg is here.") && ann.text.contains("two.png is here."))
        #expect(try Data(contentsOf: program.file("album/one.jpg")) == one)
        #expect(try Data(contentsOf: program.file("album/two.png")) == other)
        // The next device has a link of its own, and a picture of the same name a file of its own.
        await eventually { links(of: ann).count == 2 }
        #expect(try send(links(of: ann)[1], "one.jpg").status == 0)
        #expect(try Data(contentsOf: program.file("album/2-one.jpg")) == one)
        ann.type("")
        #expect(await ann.wait() == 0)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: program.file("album").path).count
                == 3)
    }

    @Test func `a name that would hide a file or steer the terminal does neither`() async throws {
        let content = try picture(10, "..\u{1B}[2J\u{202E}x.jpg", seed: 3)
        let ann = try receive()
        await eventually { links(of: ann).count == 1 }
        #expect(try send(links(of: ann)[0], "..\u{1B}[2J\u{202E}x.jpg").status == 0)
        #expect(try Data(contentsOf: program.file("album/[2Jx.jpg")) == content)
        #expect(!ann.text.contains("\u{1B}[2J"))
        ann.type("")
        #expect(await ann.wait() == 0)
    }

    @Test func `a link that was used, one that is none and a file that is missing are refused`()
        async throws
    {
        _ = try picture(10, "one.jpg", seed: 1)
        let ann = try receive()
        await eventually { links(of: ann).count == 1 }
        let link = links(of: ann)[0]
        let missing = try send(link, "no.jpg")
        #expect(missing.status == 1 && missing.text.hasSuffix("no.jpg' that can be read.\n"))
        #expect(try send(link, "one.jpg").status == 0)
        let again = try send(link, "one.jpg")
        #expect(again.status == 1)
        #expect(again.text == "photodrop: The link was used already; make a new one.\n")
        ann.type("")
        #expect(await ann.wait() == 0)
        let gone = try send(link, "one.jpg")
        #expect(
            gone.status == 1 && gone.text.hasPrefix("photodrop: The other device answers at none"))
        #expect(try send("hello", "one.jpg").text.hasPrefix("photodrop: The text is no peer link"))
        #expect(try program.run(["send"]).status == 64)
        #expect(try program.run(["receive", "/dev/null/x"]).status == 1)
    }
}
