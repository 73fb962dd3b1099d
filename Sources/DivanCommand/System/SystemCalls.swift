// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The few system calls that the tool makes itself. Everything platform-specific is in this file.
enum SystemCalls {
    /// A failed call: its error number, in words.
    struct Failure: Error, Equatable, CustomStringConvertible {
        var number: Int32

        static var current: Failure { Failure(number: errno) }

        var isNotFound: Bool { number == ENOENT || number == ENOTDIR }

        var description: String {
            // SAFETY: strerror returns a terminated string, copied before any other call.
            unsafe String(cString: strerror(number))
        }
    }

    static let standardInput: Int32 = 0
    static let standardOutput: Int32 = 1
    static let standardError: Int32 = 2

    /// Writes all bytes, however many calls that takes.
    static func writeAll(_ bytes: Span<UInt8>, to descriptor: Int32) throws(Failure) {
        var start = 0
        while start < bytes.count {
            // SAFETY: the pointer and length are those of the rest of the borrowed span.
            let written = unsafe bytes.extracting(start..<bytes.count).withUnsafeBufferPointer {
                unsafe write(descriptor, $0.baseAddress, $0.count)
            }
            if written >= 0 {
                start += written
            } else if errno == EAGAIN {
                _ = wait(for: descriptor, POLLOUT, milliseconds: 1000)
            } else if errno != EINTR {
                throw .current
            }
        }
    }

    /// Reads what is there, at most `buffer.count` bytes; 0 at the end of the input.
    static func readSome(
        _ descriptor: Int32, into buffer: inout [UInt8]
    ) throws(Failure) -> Int {
        while true {
            // SAFETY: the pointer and length are those of the array for the time of the call.
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 { return count }
            if errno == EAGAIN {
                _ = waitUntilReadable(descriptor, milliseconds: 1000)
            } else if errno != EINTR {
                throw .current
            }
        }
    }

    /// Waits until a read would not block; false when the time passes first.
    static func waitUntilReadable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
        wait(for: descriptor, POLLIN, milliseconds: milliseconds)
    }

    private static func wait(for descriptor: Int32, _ event: Int32, milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(clamping: event), revents: 0)
        // SAFETY: one structure, alive for the time of the call.
        return unsafe poll(&request, 1, milliseconds) > 0
    }

    static func openForReading(_ path: String) throws(Failure) -> Int32 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .current }
        return descriptor
    }

    /// Creates or empties a file.
    static func openForWriting(_ path: String) throws(Failure) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
        let descriptor = unsafe open(path, flags, 0o666)
        if descriptor < 0 { throw .current }
        return descriptor
    }

    /// Creates a file with a name that no other file has, readable by this user only.
    static func openTemporaryFile(
        prefix: String, suffix: String
    ) throws(Failure) -> (descriptor: Int32, path: String) {
        for _ in 0..<100 {
            let name = String(UInt64.random(in: 0 ... .max), radix: 36)
            let path = "\(prefix)\(name)\(suffix)"
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
            let descriptor = unsafe open(path, flags, 0o600)
            if descriptor >= 0 { return (descriptor, path) }
            if errno != EEXIST { throw .current }
        }
        throw Failure(number: EEXIST)
    }

    static func closeFile(_ descriptor: Int32) {
        _ = close(descriptor)
    }

    static func removeFile(_ path: String) {
        _ = unsafe unlink(path)
    }

    /// Gives a file another name, in place of the file that has it now.
    static func renameFile(_ path: String, to newPath: String) throws(Failure) {
        if unsafe rename(path, newPath) != 0 { throw .current }
    }

    /// The size of a regular file; `nil` for a pipe, a terminal, a device.
    static func regularFileSize(_ descriptor: Int32) -> Int? {
        // SAFETY: fstat fills the structure that it is lent.
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(clamping: status.st_size)
    }

    static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Asks at the terminal for a line, which it does not show while it is typed.
    ///
    /// The terminal is the one that the process was started from, whatever its inputs are.
    static func readSecret(asking question: String) throws(Failure) -> [UInt8] {
        let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
        if terminal < 0 { throw .current }
        defer { closeFile(terminal) }
        var shown = termios()
        // SAFETY: tcgetattr fills the structure that it is lent.
        if unsafe tcgetattr(terminal, &shown) != 0 { throw .current }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Hidden before it is asked: whoever answers at once, a program above all, is not shown either,
        // nor has his answer thrown away.
        // SAFETY: the structures are alive for the time of the calls.
        if unsafe tcsetattr(terminal, TCSAFLUSH, &hidden) != 0 { throw .current }
        defer { unsafe _ = tcsetattr(terminal, TCSADRAIN, &shown) }
        let text = Array(question.utf8)
        try writeAll(text.span, to: terminal)
        var line: [UInt8] = []
        var byte: [UInt8] = [0]
        while try readSome(terminal, into: &byte) == 1, byte[0] != UInt8(ascii: "\n") {
            line.append(byte[0])
        }
        try writeAll([UInt8(ascii: "\n")].span, to: terminal)
        return line
    }

    static func terminalWidth(_ descriptor: Int32) -> Int? {
        var size = winsize()
        // SAFETY: TIOCGWINSZ fills the structure that it is lent.
        guard unsafe ioctl(descriptor, UInt(clamping: TIOCGWINSZ), &size) == 0 else { return nil }
        return size.ws_col > 0 ? Int(clamping: size.ws_col) : nil
    }

    /// Makes the default action of a signal nothing, so that a dispatch source can see it instead.
    static func ignoreSignal(_ number: Int32) {
        _ = signal(number, SIG_IGN)
    }

    /// Runs a command in the shell, which sees `argument` as `$1`, and waits for its end.
    ///
    /// The child gets this process's terminal, and the default action of Control-C.
    ///
    /// - Returns: Its exit status; 128 and the signal's number if a signal ended it.
    static func runShell(_ command: String, argument: String) throws(Failure) -> Int32 {
        let words = ["/bin/sh", "-c", command, "sh", argument]
        // SAFETY: each pointer is to a copy that lives until the last line; the list ends in nil.
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(clamping: POSIX_SPAWN_SETSIGDEF))
        var child = pid_t()
        let result = unsafe posix_spawn(&child, words[0], nil, &attributes, &arguments, environ)
        if result != 0 { throw Failure(number: result) }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 {
            if errno != EINTR { throw .current }
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }

    static func exitProcess(_ status: Int32) -> Never {
        exit(status)
    }

    /// Ends the process at once: nothing is flushed.
    static func exitImmediately(_ status: Int32) -> Never {
        _exit(status)
    }
}
