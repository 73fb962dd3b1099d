// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// This process: its number, its environment and its end.
package enum CurrentProcess {
    /// Its number.
    package static var number: Int32 { getpid() }

    /// Whether a process is alive.
    ///
    /// - Parameter number: Its number.
    /// - Returns: Whether there is one, of this or another user.
    package static func isAlive(_ number: Int32) -> Bool {
        kill(number, 0) == 0 || errno == EPERM
    }

    /// The folder that the program lies in, as far as the system or its own name tells.
    package static var folder: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        // SAFETY: the buffer has the room that is said.
        let count = unsafe readlink("/proc/self/exe", &path, path.count)
        let link = path.prefix(max(count, 0)).map(UInt8.init(bitPattern:))
        let own = link.isEmpty ? CommandLine.arguments[0] : String(decoding: link, as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { return "." }
        return String(own[..<slash])
    }

    /// The arguments that it was given, without its name; nil when one of them is not UTF-8.
    package static var arguments: [String]? {
        var words: [String] = []
        for number in stride(from: 1, to: Int(CommandLine.argc), by: 1) {
            // SAFETY: there are as many strings as `argc` says, and they stay as long as the process; each is copied.
            guard let word = unsafe CommandLine.unsafeArgv[number],
                let text = unsafe String(validatingCString: word)
            else { return nil }
            words.append(text)
        }
        return words
    }

    /// The value of a variable of the environment.
    ///
    /// - Parameter name: Its name.
    /// - Returns: The value; nil when it is not set.
    package static func environmentVariable(_ name: String) -> String? {
        // SAFETY: getenv's string is copied at once; Divan never changes the environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Has a function called when the process ends by `exit`.
    ///
    /// - Parameter body: The function.
    package static func atExit(_ body: @escaping @convention(c) () -> Void) { atexit(body) }

    /// Ends the process in order.
    ///
    /// - Parameter status: What its parent gets.
    package static func exit(_ status: Int32) -> Never { CLibrary.exit(status) }

    /// Ends the process at once: nothing is flushed.
    ///
    /// - Parameter status: What its parent gets.
    package static func exitAtOnce(_ status: Int32) -> Never { _exit(status) }
}
