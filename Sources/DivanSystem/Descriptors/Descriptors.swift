// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The system calls on descriptors. A call that a signal interrupts is made again.
///
/// Most code uses a `FileHandle`, which closes itself. A bare descriptor is for one that another library or
/// another process owns.
package enum Descriptors {
    /// The descriptor of standard input.
    package static let standardInput: Int32 = 0
    /// The descriptor of standard output.
    package static let standardOutput: Int32 = 1
    /// The descriptor of standard error.
    package static let standardError: Int32 = 2

    /// How many descriptors this process may have.
    package static var limit: Int {
        var bounds = rlimit()
        #if canImport(Glibc)
        let kind = Int32(clamping: RLIMIT_NOFILE.rawValue)
        #else
        let kind = RLIMIT_NOFILE
        #endif
        // SAFETY: the structure is a local that lives through the call.
        guard unsafe getrlimit(kind, &bounds) == 0 else { return 1_024 }
        return Int(clamping: bounds.rlim_cur)
    }

    /// Whether so many more files or connections can be opened, which is found out by trying.
    package static func areFree(_ count: Int) -> Bool {
        // SAFETY: the path is a literal.
        let first = unsafe CLibrary.open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard first >= 0 else { return false }
        var taken = [first]
        defer { for descriptor in taken { close(descriptor) } }
        while taken.count < count {
            let next = fcntl(first, F_DUPFD_CLOEXEC, 0)
            guard next >= 0 else { return false }
            taken.append(next)
        }
        return true
    }

    /// Opens a file of any kind.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - options: How it is opened.
    ///   - permissions: Those of a file that is made, less those that the process withholds.
    /// - Returns: The descriptor, which the caller closes.
    /// - Throws: `SystemError`.
    package static func open(
        _ path: String, _ options: OpenOptions, permissions: Int = 0o644
    ) throws(SystemError) -> Int32 {
        // SAFETY: the path is lent to the call as a C string.
        let descriptor = unsafe CLibrary.open(path, options.flags, mode_t(permissions))
        guard descriptor >= 0 else { throw SystemError("open", path) }
        return descriptor
    }

    /// Closes a descriptor.
    ///
    /// - Parameter descriptor: The descriptor.
    package static func close(_ descriptor: Int32) { _ = CLibrary.close(descriptor) }

    // MARK: - Reading

    /// Reads from an offset on: a file that is not read from its beginning to its end.
    ///
    /// - Parameters:
    ///   - descriptor: The file.
    ///   - offset: Where the first byte lies.
    ///   - count: The most bytes to read.
    ///   - path: The file's path, for the error.
    /// - Returns: The bytes; fewer only at the end of the file.
    /// - Throws: `SystemError`.
    package static func read(
        _ descriptor: Int32, at offset: Int, upTo count: Int, path: String
    ) throws(SystemError) -> [UInt8] {
        var failure: Int32 = 0
        // SAFETY: each call writes within the buffer's capacity, from the bytes read so far on, and
        // exactly those are counted as initialised.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            done = 0
            while done < count, let base = buffer.baseAddress {
                let got = unsafe pread(
                    descriptor, base + done, count - done, off_t(offset + done))
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = errno }
                guard got > 0 else { break }
                done += got
            }
        }
        guard failure == 0 else { throw SystemError("pread", path, number: failure) }
        return bytes
    }

    /// Reads what is there, and waits while nothing is.
    ///
    /// - Parameters:
    ///   - descriptor: What to read from.
    ///   - buffer: Where the bytes go.
    /// - Returns: How many came; 0 at the end of the input.
    /// - Throws: `SystemError`.
    package static func readSome(
        _ descriptor: Int32, into buffer: inout [UInt8]
    ) throws(SystemError) -> Int {
        while true {
            // SAFETY: the pointer and length are those of the array for the time of the call.
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe CLibrary.read(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 { return count }
            if errno == EAGAIN {
                _ = waitUntilReadable(descriptor, milliseconds: 1_000)
            } else if errno != EINTR {
                throw SystemError("read", "descriptor \(descriptor)")
            }
        }
    }

    /// Waits until a read would not wait.
    ///
    /// - Parameters:
    ///   - descriptor: What is to be read.
    ///   - milliseconds: How long to wait.
    /// - Returns: False when the time passes first.
    package static func waitUntilReadable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
        wait(for: descriptor, POLLIN, milliseconds: milliseconds)
    }

    private static func wait(for descriptor: Int32, _ event: Int32, milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(clamping: event), revents: 0)
        // SAFETY: one structure, alive for the time of the call.
        return unsafe CLibrary.poll(&request, 1, milliseconds) > 0
    }

    // MARK: - Writing

    /// Cuts a file off, or makes it longer by zeros that take no room.
    ///
    /// - Parameters:
    ///   - descriptor: The file.
    ///   - length: The new length.
    ///   - path: The file's path, for the error.
    /// - Throws: `SystemError`.
    package static func setLength(
        _ descriptor: Int32, _ length: Int, path: String
    ) throws(SystemError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else {
            throw SystemError("ftruncate", path)
        }
    }

    /// Writes what the system takes at once.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - descriptor: Where they go.
    /// - Returns: How many were written.
    /// - Throws: `SystemError`.
    package static func writeSome(
        _ bytes: Span<UInt8>, to descriptor: Int32
    ) throws(SystemError) -> Int {
        while true {
            // SAFETY: the pointer and length are those of the borrowed span for the time of the call.
            let written = unsafe bytes.withUnsafeBufferPointer {
                unsafe CLibrary.write(descriptor, $0.baseAddress, $0.count)
            }
            if written >= 0 { return written }
            if errno != EINTR { throw SystemError("write", "descriptor \(descriptor)") }
        }
    }

    /// Writes all bytes, however many calls that takes, and waits while the other end takes none.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - descriptor: Where they go.
    /// - Throws: `SystemError`.
    package static func writeAll(
        _ bytes: Span<UInt8>, to descriptor: Int32
    ) throws(SystemError) {
        var start = 0
        while start < bytes.count {
            do throws(SystemError) {
                start += try writeSome(bytes.extracting(start..<bytes.count), to: descriptor)
            } catch {
                guard error.number == EAGAIN else { throw error }
                _ = wait(for: descriptor, POLLOUT, milliseconds: 1_000)
            }
        }
    }
}
