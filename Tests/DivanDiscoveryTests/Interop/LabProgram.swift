// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Synchronization

/// A program that runs on a host of a `NetworkLab`. What it says goes to a file, which `lines` reads.
///
/// It ends when this object goes, and also when the tests are killed: it stands under a shell that waits for the end of an input.
final class LabProgram: Sendable {
    /// Runs a program until a line comes, which asks it to end, or the input ends, which kills it.
    private static let guardian = """
        "$@" </dev/null &
        if read -r _; then kill "$!"; else kill -KILL "$!"; fi
        wait
        """

    let process: ChildProcess
    private let input: Mutex<Int32>
    private let file: String

    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - isGuarded: Whether it ends by the guardian; otherwise it reads the input itself, and ends with it.
    ///   - file: Where its output goes.
    ///   - environment: What is set beside the environment of the tests.
    init(
        _ command: [String], isGuarded: Bool, output file: String,
        environment: [String: String] = [:]
    ) throws {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Self.stream, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        // Both streams go to the end of one file.
        let output = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        defer {
            close(ends[1])
            close(output)
        }
        let words = isGuarded ? ["/bin/sh", "-c", Self.guardian, "sh"] + command : command
        self.file = file
        input = Mutex(ends[0])
        process = try ChildProcess(
            words[0], Array(words.dropFirst()),
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            input: .descriptor(ends[1]), output: .descriptor(output), error: .descriptor(output))
    }

    deinit { end() }

    /// The whole lines that it has said.
    var lines: [String] {
        let said = (try? Data(contentsOf: URL(filePath: file))) ?? Data()
        return said.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .dropLast().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether one of its lines has a text.
    func hasSaid(_ text: String) -> Bool { lines.contains { $0.contains(text) } }

    /// Writes a line of words, parted by tabs, to its input.
    func say(_ words: String...) {
        let bytes = Array((words.joined(separator: "\t") + "\n").utf8)
        _ = input.withLock { send($0, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Asks a guarded program to end, and waits until it has.
    func stop() {
        say("stop")
        process.wait()
    }

    /// Ends its input, and waits for its end.
    func end() {
        input.withLock { input in
            if input >= 0 { close(input) }
            input = -1
        }
        process.wait()
    }

    private static let stream = Int32(SOCK_STREAM.rawValue)
}
