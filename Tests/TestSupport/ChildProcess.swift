// SPDX-License-Identifier: Apache-2.0

internal import CSpawn
internal import Foundation
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A program that runs beside the tests.
///
/// ```swift
/// let shell = try ChildProcess("/bin/sh", ["-c", "exit 3"])
/// #expect(shell.wait() == 3)
/// ```
///
/// It inherits its three streams and nothing else: no file that another test has open in this moment, whose room
/// would stay taken or whose end would never come. Foundation's `Process` does not see to that, and with more than a
/// thousand open descriptors, as hundreds of tests of sockets have, it reads beyond the list of them and may
/// crash.
///
/// State: the exit status, once known, guarded by the mutex.
public final class ChildProcess: Sendable {
    /// Where a stream comes from or goes to.
    public enum Stream: Sendable {
        /// Nothing comes, and what goes there is forgotten.
        case null
        /// The stream of the tests.
        case inherited
        /// A file that is there.
        case file(String)
        /// A descriptor, which stays the caller's.
        case descriptor(Int32)
    }

    /// The system's refusal to start a program.
    public struct Failure: Error, CustomStringConvertible {
        /// The program and the number of the error.
        public var description: String
    }

    /// The number of the process.
    public let identifier: Int32
    private let known = Mutex<Int32?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: Its path, or a name that is looked up in `PATH`.
    ///   - arguments: Its arguments.
    ///   - folder: Its current directory; nil for that of the tests.
    ///   - environment: Its environment; nil for that of the tests.
    ///   - input: Where its input comes from.
    ///   - output: Where its output goes.
    ///   - error: Where its errors go.
    /// - Throws: `Failure` when it does not start.
    public init(
        _ program: String, _ arguments: [String], in folder: String? = nil,
        environment: [String: String]? = nil, input: Stream = .null, output: Stream = .inherited,
        error: Stream = .inherited
    ) throws {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        #else
        var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in [input, output, error].enumerated() {
            let number = Int32(number)
            let access = number == 0 ? O_RDONLY : O_WRONLY
            switch stream {
            case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", access, 0)
            case .inherited: posix_spawn_file_actions_adddup2(&actions, number, number)
            case .file(let path):
                posix_spawn_file_actions_addopen(&actions, number, path, access, 0)
            case .descriptor(let other):
                posix_spawn_file_actions_adddup2(&actions, other, number)
            }
        }
        if let folder { _ = divan_spawn_change_directory(&actions, folder) }
        var words = Self.texts([program] + arguments)
        var settings = Self.texts(
            (environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" })
        defer { for text in words + settings { free(text) } }
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        #else
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of Dispatch's, on which tests run, hold signals back, and so would the child.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        #if canImport(Darwin)
        flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
        #endif
        _ = divan_spawn_close_from(&actions, 3)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var started = pid_t()
        let code = posix_spawnp(&started, program, &actions, &attributes, &words, &settings)
        guard code == 0 else {
            throw Failure(description: "\(program) could not be started: \(code).")
        }
        identifier = started
    }

    private static func texts(_ words: [String]) -> [UnsafeMutablePointer<CChar>?] {
        words.map { strdup($0) } + [nil]
    }

    /// Runs a program to its end and returns what it wrote.
    ///
    /// - Throws: `Failure` when it does not start, or an error of the file that takes its output.
    public static func output(
        of program: String, _ arguments: [String], in folder: String? = nil
    ) throws -> String {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("divan-output-\(UInt64.random(in: 0 ... .max))")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try ChildProcess(program, arguments, in: folder, output: .file(file.path)).wait()
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// Whether it has not ended yet.
    public var isRunning: Bool { status(options: WNOHANG) == nil }

    /// Waits for its end and returns its exit status, or 128 and the signal that ended it.
    @discardableResult
    public func wait() -> Int32 { status(options: 0) ?? 0 }

    /// Sends it a signal, unless its end has been seen.
    public func signal(_ number: Int32) {
        known.withLock { known in if known == nil { _ = kill(identifier, number) } }
    }

    private func status(options: Int32) -> Int32? {
        if let status = known.withLock({ $0 }) { return status }
        var raw: Int32 = 0
        var ended = waitpid(identifier, &raw, options)
        while ended < 0, errno == EINTR { ended = waitpid(identifier, &raw, options) }
        guard ended == identifier else { return known.withLock { $0 } }
        let signal = raw & 0x7F
        let status = signal == 0 ? raw >> 8 & 0xFF : 128 + signal
        known.withLock { $0 = status }
        return status
    }
}
