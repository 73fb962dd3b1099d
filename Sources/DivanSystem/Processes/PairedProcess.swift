// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import Synchronization

/// A program that runs beside this one, and speaks with it over a socket, which is its standard input and output.
///
/// It inherits nothing else: no environment but what it is given, no held signals, and no descriptors of Divan's, which are closed at its start. What
/// it writes to standard error is dropped. No call here waits but `wait` and `end()`.
///
/// State: how it ended, once that is known. No signal is sent after that, since its number may be another process's then.
package final class PairedProcess: Sendable {
    /// How a process ended.
    package enum End: Sendable, Equatable {
        /// By itself, with a status.
        case exit(Int32)
        /// By a signal of a number.
        case signal(Int32)
    }

    /// Its number.
    package let number: Int32
    private let socket: Int32
    private let known = Mutex<End?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: Its path.
    ///   - arguments: Its arguments.
    ///   - environment: Its environment, texts of the form `NAME=VALUE`.
    /// - Throws: `SystemError` when it does not start.
    package init(
        _ program: String, _ arguments: [String], environment: [String] = []
    ) throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        // SAFETY: the array has room for two descriptors.
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw SystemError("socketpair", program)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { Descriptors.close(ends[1]) }
        do throws(SystemError) {
            number = try Self.start([program] + arguments, environment, on: ends[1])
        } catch {
            Descriptors.close(ends[0])
            throw error
        }
        socket = ends[0]
        #if canImport(Darwin)
        var on: Int32 = 1
        // SAFETY: the option is a local that outlives the call, and its size is passed with it.
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(4))
        #endif
    }

    private static func start(
        _ command: [String], _ environment: [String], on socket: Int32
    ) throws(SystemError) -> Int32 {
        // SAFETY: all structures are locals that outlive the calls; each word is a copy that lives until the last line, and the
        // lists of words end in nil.
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, socket, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, socket, 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // Threads of Dispatch's hold signals back, and so would the child.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        unsafe posix_spawnattr_setflags(&attributes, Int16(clamping: flags))
        var words = unsafe command.map { unsafe strdup($0) } + [nil]
        var settings = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (words + settings).forEach { unsafe free($0) } }
        var child = pid_t()
        let code = unsafe posix_spawn(
            &child, command[0], &actions, &attributes, &words, &settings)
        guard code == 0 else { throw SystemError("posix_spawn", command[0], number: code) }
        return child
    }

    deinit {
        _ = end()
        Descriptors.close(socket)
    }

    /// Sends what the socket takes at once.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: How many it took; 0 when it has no room.
    /// - Throws: `SystemError`, also when the process has ended.
    package func send(_ bytes: Span<UInt8>) throws(SystemError) -> Int {
        var flags = Int32(clamping: MSG_DONTWAIT)
        #if !canImport(Darwin)
        flags |= Int32(clamping: MSG_NOSIGNAL)
        #endif
        while true {
            // SAFETY: the pointer and length are those of the borrowed span for the time of the call.
            let count = unsafe bytes.withUnsafeBufferPointer {
                unsafe CLibrary.send(socket, $0.baseAddress, $0.count, flags)
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { throw SystemError("send", "process \(number)") }
        }
    }

    /// Receives what is there.
    ///
    /// - Parameter buffer: Where the bytes go.
    /// - Returns: How many came; 0 when the process has closed its output; nil when there is nothing now.
    /// - Throws: `SystemError`, also when the process has ended without reading all that it was sent.
    package func receive(into buffer: inout [UInt8]) throws(SystemError) -> Int? {
        while true {
            // SAFETY: the pointer and length are those of the array for the time of the call.
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe recv(socket, $0.baseAddress, $0.count, Int32(clamping: MSG_DONTWAIT))
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return nil }
            if errno != EINTR { throw SystemError("recv", "process \(number)") }
        }
    }

    /// Waits until there is something to receive.
    ///
    /// - Parameters:
    ///   - orRoom: Whether it also waits for room to send.
    ///   - milliseconds: How long to wait.
    /// - Returns: False when the time passes first.
    package func wait(orRoom: Bool, milliseconds: Int) -> Bool {
        let events = Int16(clamping: POLLIN) | (orRoom ? Int16(clamping: POLLOUT) : 0)
        var request = pollfd(fd: socket, events: events, revents: 0)
        // SAFETY: one structure, alive for the time of the call.
        return unsafe CLibrary.poll(&request, 1, Int32(clamping: milliseconds)) > 0
    }

    /// The bytes of memory that are the process's own and no file's; nil when the system does not tell.
    package var ownMemory: Int? {
        let path = "/proc/\(number)/status"
        guard let file = try? Descriptors.open(path, [.read]) else { return nil }
        defer { Descriptors.close(file) }
        guard let status = try? Descriptors.read(file, at: 0, upTo: 4_096, path: path) else {
            return nil
        }
        let line = status.split(separator: UInt8(ascii: "\n")).first {
            $0.starts(with: "RssAnon:".utf8)
        }
        let digits = line?.filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        return digits.flatMap { Int(String(decoding: $0, as: UTF8.self)) }.map { $0 << 10 }
    }

    /// Kills the process if it still runs, and waits for its end.
    ///
    /// - Returns: How it ended; the signal that killed it when another part of the app has waited for it.
    @discardableResult
    package func end() -> End { finish(kills: true) }

    /// Waits for the end of a process that has closed its output. One that goes on for a second is killed.
    ///
    /// - Returns: How it ended.
    package func ended() -> End { finish(kills: false) }

    private func finish(kills: Bool) -> End {
        known.withLock { known in
            if let known { return known }
            var status: Int32 = 0
            var tries = kills ? 0 : 100
            while true {
                if tries == 0 { _ = kill(number, SIGKILL) }
                // SAFETY: the status is a local that outlives the call.
                let found = unsafe waitpid(number, &status, tries > 0 ? WNOHANG : 0)
                if found > 0 { break }
                if found < 0, errno != EINTR {
                    status = SIGKILL
                    break
                }
                if found == 0 { _ = CLibrary.poll(nil, 0, 10) }
                tries -= tries > 0 ? 1 : 0
            }
            let signal = status & 0x7F
            let end: End = signal == 0 ? .exit(status >> 8 & 0xFF) : .signal(signal)
            known = end
            return end
        }
    }
}
