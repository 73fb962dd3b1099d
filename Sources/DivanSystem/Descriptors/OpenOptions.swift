// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// How a file is opened. A program that this process starts never inherits it.
package struct OpenOptions: OptionSet, Sendable {
    /// The options, a bit each.
    package let rawValue: UInt16

    /// Makes options of their bits.
    ///
    /// - Parameter rawValue: The bits.
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// For reading.
    package static let read = OpenOptions(rawValue: 1)
    /// For writing.
    package static let write = OpenOptions(rawValue: 2)
    /// The file is made if it is missing.
    package static let create = OpenOptions(rawValue: 4)
    /// The file is made and must be missing.
    package static let new = OpenOptions(rawValue: 8)
    /// Each write appends to the file, wherever its end is by then.
    package static let append = OpenOptions(rawValue: 16)
    /// The file is emptied.
    package static let empty = OpenOptions(rawValue: 32)
    /// It must be a directory.
    package static let directory = OpenOptions(rawValue: 64)
    /// Opening, reading and writing wait for the other end of a pipe or a device. Without it they never do.
    package static let waits = OpenOptions(rawValue: 128)

    /// The flags of open(2).
    var flags: Int32 {
        var flags = O_CLOEXEC
        if contains(.write) {
            flags |= contains(.read) ? O_RDWR : O_WRONLY
        } else {
            flags |= O_RDONLY
        }
        let others: [(OpenOptions, Int32)] = [
            (.create, O_CREAT), (.new, O_CREAT | O_EXCL), (.append, O_APPEND), (.empty, O_TRUNC),
            (.directory, O_DIRECTORY),
        ]
        for (option, flag) in others where contains(option) { flags |= flag }
        return contains(.waits) ? flags : flags | O_NONBLOCK
    }
}
