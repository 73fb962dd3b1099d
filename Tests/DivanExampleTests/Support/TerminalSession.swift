// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// A program in a terminal of its own, at which a test types.
///
/// State: what the terminal was sent, guarded by the mutex. A thread reads it until the program has ended.
final class TerminalSession: Sendable {
    private let controller: Int32
    private let process: ChildProcess
    private let sent = Mutex<[UInt8]>([])
    private let ended = Gate()

    init(_ program: String, _ arguments: [String], in folder: String) throws {
        var controller: Int32 = -1
        var terminal: Int32 = -1
        guard openpty(&controller, &terminal, nil, nil, nil) == 0 else {
            throw CocoaError(.fileReadUnknown)
        }
        _ = fcntl(controller, F_SETFD, FD_CLOEXEC)
        self.controller = controller
        let descriptor = controller
        defer { close(terminal) }
        process = try ChildProcess(
            program, arguments, in: folder, input: .descriptor(terminal),
            output: .descriptor(terminal), error: .descriptor(terminal))
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { break }
                sent.withLock { $0 += buffer[..<count] }
            }
            close(descriptor)
            ended.open()
        }
    }

    /// All that the terminal was sent.
    var text: String { sent.withLock { String(decoding: $0, as: UTF8.self) } }

    /// What the terminal shows: what was sent since it was cleared.
    var screen: String {
        text.components(separatedBy: "\u{1B}[2J").last ?? ""
    }

    /// Types a line.
    func type(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(controller, bytes, bytes.count)
    }

    /// Waits until the terminal shows a text.
    func shows(_ text: String) async -> Bool {
        await eventually { screen.contains(text) }
    }

    /// Waits until the program has ended, and returns its status.
    func wait() async -> Int32 {
        await ended.passed()
        return process.wait()
    }

    /// Types `quit`, and returns the status.
    func quit() async -> Int32 {
        type("quit")
        return await wait()
    }
}
