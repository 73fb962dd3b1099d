// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The user's shell.
package enum Shell {
    /// Runs a command in the shell, which sees `argument` as `$1`, and waits for its end.
    ///
    /// The child gets this process's terminal, and the default action of Control-C.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - argument: What it sees as `$1`.
    /// - Returns: Its exit status; 128 and the signal's number if a signal ended it.
    /// - Throws: `SystemError` when it cannot be started.
    package static func run(_ command: String, argument: String) throws(SystemError) -> Int32 {
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
        if result != 0 { throw SystemError("posix_spawn", words[0], number: result) }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 {
            if errno != EINTR { throw SystemError("waitpid", words[0]) }
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
