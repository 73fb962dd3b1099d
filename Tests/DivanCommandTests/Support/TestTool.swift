// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// The built `divan`, run as a child process in a directory of its own.
///
/// Outputs go to files and not to pipes: nothing can fill up, and no other child of the test
/// process can hold an end open.
final class TestTool: Sendable {
    struct Result {
        var status: Int32
        var out: String
        var err: String

        var lines: [String] { out.split(separator: "\n").map(String.init) }
    }

    let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("divan-test-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    /// The tool lies beside the test bundle.
    static let executable: URL = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let beside = bundle.appendingPathComponent("divan")
        if FileManager.default.isExecutableFile(atPath: beside.path) { return beside }
        // Another runner may have started the bundle: look where the package is built.
        return TestFolder.repository.appending(path: ".build/debug/divan")
    }()

    func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: directory.appendingPathComponent(name))
    }

    func read(_ name: String) throws -> String {
        try String(contentsOf: directory.appendingPathComponent(name), encoding: .utf8)
    }

    /// Runs a command to its end.
    @discardableResult
    func run(
        _ words: String..., input: String = "", environment: [String: String] = [:]
    ) throws -> Result {
        let child = try start(words, input: input, environment: environment)
        return try child.wait()
    }

    /// How a sanitizer is to report, which holds for the command as it does for its tests.
    private static let sanitizing = ProcessInfo.processInfo.environment
        .filter { ["TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key) }

    /// Starts a command that the test goes on beside, by another program where one is named.
    func start(
        _ words: [String], input: String = "", environment: [String: String] = [:],
        under program: [String] = []
    ) throws -> Child {
        let name = "run-\(UInt64.random(in: 0 ... .max))"
        for suffix in ["in", "out", "err"] { try write("", to: "\(name).\(suffix)") }
        try write(input, to: "\(name).in")
        func file(_ suffix: String) -> URL { directory.appendingPathComponent("\(name).\(suffix)") }
        let line = program + [Self.executable.path] + words
        let process = try ChildProcess(
            line[0], Array(line.dropFirst()), in: directory.path,
            environment: Self.sanitizing
                .merging(["PATH": "/usr/bin:/bin", "TMPDIR": directory.path]) { $1 }
                .merging(environment) { $1 },
            input: .file(file("in").path), output: .file(file("out").path),
            error: .file(file("err").path))
        return Child(process: process, out: file("out"), err: file("err"))
    }

    /// Runs a command whose outputs are a terminal, and returns what that got to show.
    func runOnTerminal(
        _ words: String..., environment: [String: String] = ["TERM": "xterm"]
    ) throws -> String {
        let (controller, terminal) = try Self.openTerminal()
        defer { close(controller) }
        defer { close(terminal) }
        let process = try ChildProcess(
            Self.executable.path, words, in: directory.path,
            environment: Self.sanitizing.merging(environment) { $1 },
            output: .descriptor(terminal), error: .descriptor(terminal))
        process.wait()
        // What was written lies in the terminal's buffer, which is larger than any of it.
        var flags = fcntl(controller, F_GETFL)
        flags |= O_NONBLOCK
        _ = fcntl(controller, F_SETFL, flags)
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Foundation.read(controller, &buffer, buffer.count)
            if count <= 0 { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Runs a command at a terminal of its own, types an answer at each question, and returns its exit
    /// code and what the terminal got to show.
    func runTyping(_ answers: [String], _ words: String...) throws -> (status: Int32, shown: String)
    {
        let (controller, terminal) = try Self.openTerminal()
        defer { close(controller) }
        let process = try start(words, at: terminal)
        close(terminal)
        var shown = ""
        for answer in answers {
            guard Self.show(controller, until: ": ", in: &shown) else { break }
            let line = Array((answer + "\n").utf8)
            _ = Foundation.write(controller, line, line.count)
            // What has been answered is no question any more.
            shown += "\n"
        }
        _ = Self.show(controller, until: nil, in: &shown)
        return (process.wait(), shown)
    }

    /// Starts a command in a session of its own, at whose terminal it asks, whatever its input is.
    private func start(_ words: [String], at terminal: Int32) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/setsid", ["--ctty", "--wait", Self.executable.path] + words,
            in: directory.path,
            environment: Self.sanitizing.merging(["PATH": "/usr/bin:/bin", "TERM": "xterm"]) { $1 },
            input: .descriptor(terminal), output: .descriptor(terminal),
            error: .descriptor(terminal))
    }

    /// How a user ends a command that asks.
    enum Ending { case controlC, termination }

    /// Runs a command at a terminal of its own, types an answer at each question, and ends it at the next one. Returns its exit
    /// code, 137 when it did not end, what the terminal got to show, and whether that shows what is typed afterwards.
    func interruptTyping(
        _ ending: Ending, after answers: [String] = [], _ words: String...
    ) throws -> (status: Int32, shown: String, isEchoing: Bool) {
        let (controller, terminal) = try Self.openTerminal()
        defer { close(controller) }
        defer { close(terminal) }
        let process = try start(words, at: terminal)
        var shown = ""
        func type(_ text: String) { _ = Foundation.write(controller, text, text.utf8.count) }
        for answer in answers {
            guard Self.show(controller, until: ": ", in: &shown) else { break }
            type(answer + "\n")
            // What has been answered is no question any more.
            shown += "\n"
        }
        _ = Self.show(controller, until: ": ", in: &shown)
        switch ending {
        case .controlC: type("\u{3}")
        case .termination: process.signal(SIGTERM)
        }
        let hasEnded = eventually { !process.isRunning }
        if !hasEnded { process.signal(SIGKILL) }
        let status = process.wait()
        _ = Self.show(controller, until: "Interrupted.", isAnywhere: true, in: &shown, for: 2_000)
        var settings = termios()
        let isKnown = tcgetattr(terminal, &settings) == 0
        return (status, shown, isKnown && settings.c_lflag & tcflag_t(ECHO) != 0)
    }

    /// Runs a command at a terminal until that shows a text, interrupts it, and returns its exit code and all that the terminal got to
    /// show.
    func runOnTerminal(_ words: [String], until text: String) throws -> (
        status: Int32, shown: String
    ) {
        let (controller, terminal) = try Self.openTerminal()
        defer { close(controller) }
        let process = try ChildProcess(
            Self.executable.path, words, in: directory.path,
            environment: Self.sanitizing.merging(["PATH": "/usr/bin:/bin", "TERM": "xterm"]) { $1 },
            output: .descriptor(terminal), error: .descriptor(terminal))
        close(terminal)
        var shown = ""
        _ = Self.show(controller, until: text, isAnywhere: true, in: &shown)
        process.signal(SIGINT)
        _ = Self.show(controller, until: nil, in: &shown)
        return (process.wait(), shown)
    }

    /// A terminal of its own for a command, and the end at which a user would sit, which no command inherits.
    private static func openTerminal() throws -> (controller: Int32, terminal: Int32) {
        var (controller, terminal): (Int32, Int32) = (-1, -1)
        guard openpty(&controller, &terminal, nil, nil, nil) == 0 else {
            throw CocoaError(.fileReadUnknown)
        }
        _ = fcntl(controller, F_SETFD, FD_CLOEXEC)
        return (controller, terminal)
    }

    /// Reads what a terminal shows, up to a text at its end or anywhere, or to the end of all; false when that does
    /// not come for a minute.
    private static func show(
        _ controller: Int32, until end: String?, isAnywhere: Bool = false, in shown: inout String,
        for milliseconds: Int32 = 60_000
    ) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            if let end, isAnywhere ? shown.contains(end) : shown.hasSuffix(end) { return true }
            var ready = pollfd(fd: controller, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, milliseconds) > 0 else { return false }
            let count = Foundation.read(controller, &buffer, buffer.count)
            guard count > 0 else { return end == nil }
            shown += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    struct Child {
        let process: ChildProcess
        let out: URL
        let err: URL

        func interrupt() { process.signal(SIGINT) }

        var output: String { (try? String(contentsOf: out, encoding: .utf8)) ?? "" }

        func wait() throws -> Result {
            Result(
                status: process.wait(),
                out: try String(contentsOf: out, encoding: .utf8),
                err: try String(contentsOf: err, encoding: .utf8))
        }

        /// Waits until the output holds some text; false when the command ends before, or it does not come.
        func waitForOutput(
            _ text: String, sourceLocation: SourceLocation = #_sourceLocation
        ) -> Bool {
            eventually(sourceLocation: sourceLocation) {
                output.contains(text) || !process.isRunning
            }
            return output.contains(text)
        }

        /// Where a server listens.
        struct Address {
            var url: String
            var port: UInt16
        }

        /// Waits for the first line of a server, which says where it listens; nil when it ends before, or says
        /// something else.
        func address(sourceLocation: SourceLocation = #_sourceLocation) -> Address? {
            // The first line is whole when it has its end.
            guard waitForOutput("\n", sourceLocation: sourceLocation) else { return nil }
            let url = String(output.prefix { $0 != "\n" })
            guard let port = URLComponents(string: url)?.port else { return nil }
            return Address(url: url, port: UInt16(clamping: port))
        }

        /// Waits until a server has said what the fingerprint of its certificate is; nil when it ends before.
        func fingerprint(sourceLocation: SourceLocation = #_sourceLocation) -> String? {
            let label = "certificate SHA-256: "
            guard waitForOutput(label, sourceLocation: sourceLocation),
                // Its line is the last one.
                eventually({ output.hasSuffix("\n") })
            else { return nil }
            return output.components(separatedBy: label).last?.trimmingCharacters(in: .newlines)
        }
    }
}
