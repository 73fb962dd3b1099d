// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// A failed system call: which, on what, and why.
///
/// The modules above translate it at their edge into an error of their own, with a sentence that says what
/// to do.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The system call, such as `open`.
    package var operation: String
    /// The file that it was called for; a description where there is no path.
    package var path: String
    /// The system's number of the error, `errno`.
    package var number: Int32

    /// Makes an error of a number.
    ///
    /// - Parameters:
    ///   - operation: The system call.
    ///   - path: The file that it was called for.
    ///   - number: The number of the error.
    package init(_ operation: String, _ path: String, number: Int32) {
        self.operation = operation
        self.path = path
        self.number = number
    }

    /// Makes the error of the system call that failed last on this thread.
    ///
    /// - Parameters:
    ///   - operation: The system call.
    ///   - path: The file that it was called for.
    package init(_ operation: String, _ path: String) {
        self.init(operation, path, number: errno)
    }

    /// The reason in the operating system's words.
    package var reason: String {
        if number == ENOTSUP, operation == "open" {
            return "it is a pipe, a device or a socket; put a regular file in its place"
        }
        // SAFETY: strerror returns a constant or thread-local C string, copied at once.
        return unsafe String(cString: strerror(number))
    }

    /// The call, the path and the reason.
    package var description: String { "\(operation) failed on '\(path)': \(reason)" }
}

// The kinds of errors, so that the numbers stay in this module.
extension SystemError {
    /// The error of a file that would become longer than its form allows.
    ///
    /// - Parameter path: The file.
    /// - Returns: The error.
    package static func tooLarge(_ path: String) -> SystemError {
        SystemError("write", path, number: EFBIG)
    }

    /// The error of an encrypted file that is not what was written, or that holds another file's content.
    ///
    /// - Parameter path: The file.
    /// - Returns: The error.
    package static func notGenuine(_ path: String) -> SystemError {
        SystemError("decrypt", path, number: EBADMSG)
    }

    /// A pipe, a device or a socket where a file should be.
    ///
    /// - Parameter path: The file.
    /// - Returns: The error.
    package static func noRegularFile(_ path: String) -> SystemError {
        SystemError("open", path, number: ENOTSUP)
    }

    /// A file that is not there.
    ///
    /// - Parameters:
    ///   - operation: What was done with it.
    ///   - path: The file.
    /// - Returns: The error.
    package static func missing(_ operation: String, _ path: String) -> SystemError {
        SystemError(operation, path, number: ENOENT)
    }

    /// Whether the file is to blame, and not the system.
    package var isDamage: Bool { number == EBADMSG }

    /// Whether there is no file of that name.
    package var isNoSuchFile: Bool { number == ENOENT }

    /// Whether there is no file of that name, nor a directory that it could be in.
    package var isMissing: Bool { number == ENOENT || number == ENOTDIR }

    /// Whether there is such a file already.
    package var isExisting: Bool { number == EEXIST }

    /// Whether the disk, or the user's share of it, is full.
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }

    /// Whether the process, or the system, has no descriptors or memory left: the file is not to blame.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOMEM].contains(number) }

    /// Whether the permissions do not allow it, or the medium.
    package var isRefused: Bool { [EROFS, EACCES, EPERM].contains(number) }

    /// Whether the file system makes no second name for this file, as one without links does.
    package var isWithoutLinks: Bool { [EPERM, EOPNOTSUPP, EMLINK, ENOSYS].contains(number) }

    /// Whether another socket has the address.
    package var isAddressInUse: Bool { number == EADDRINUSE }
}
