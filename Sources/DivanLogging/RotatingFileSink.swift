// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Writes entries to a file that is set aside when it is full, so that logs never fill a disk.
///
/// ```swift
/// Log.add(RotatingFileSink(path: "/var/log/app.log"), levels: LogLevels(.info))
/// ```
///
///     app.log      the newest entries, at most `maximumSize` bytes
///     app.log.1    those before
///     app.log.2    the oldest; goes when the next file is set aside
///
/// An entry that cannot be written (the disk is full, the folder is gone, permissions are missing) is
/// lost and counted; the next entry tries again, and the first one that succeeds is preceded by a line
/// with the count. The sink never throws and never ends the process. A file that another program
/// renamed or deleted is made anew. Several processes may write to one file: each line is appended whole.
///
/// State: `state`, guarded by its mutex.
public final class RotatingFileSink: LogSink {
    /// Where the newest entries are.
    public let path: String
    /// The size in bytes at which the file is set aside.
    public let maximumSize: Int
    /// How many files are kept, the newest one included.
    public let maximumCount: Int

    private struct State {
        var file: Int32 = -1
        var lost = 0
        /// Whether the last write ended in the middle of a line.
        var isMidLine = false
    }

    private let state = Mutex(State())

    /// Makes a sink. The file is opened with the first entry.
    ///
    /// - Parameters:
    ///   - path: The file; its folder must exist.
    ///   - maximumSize: The bytes of one file, at least 1,024; 512 KiB unless given.
    ///   - maximumCount: How many files are kept, at least 1; 2 unless given.
    public init(path: String, maximumSize: Int = 512 * 1_024, maximumCount: Int = 2) {
        self.path = path
        self.maximumSize = max(1_024, maximumSize)
        self.maximumCount = max(1, maximumCount)
    }

    deinit { state.withLock { if $0.file >= 0 { _ = close($0.file) } } }

    /// Appends a line for the entry, in a new file when the line does not fit.
    public func write(_ entry: LogEntry) {
        state.withLock { state in
            let line = entry.line + "\n"
            makeReady(&state, forBytes: line.utf8.count)
            if state.lost > 0 {
                let head = state.isMidLine ? "\n" : ""
                let notice = LogEntry(
                    millisecondsSince1970: entry.millisecondsSince1970, domain: entry.domain,
                    level: .warning,
                    message: "\(state.lost) log entries are lost: they could not be written.")
                guard append(head + notice.line + "\n", &state) else {
                    state.lost += 1
                    return
                }
                state.lost = 0
            }
            if !append(line, &state) { state.lost += 1 }
        }
    }

    /// Opens the file, or sets it aside when it is full. Without success `file` is -1.
    private func makeReady(_ state: inout State, forBytes count: Int) {
        // A second look: what was full may have been set aside by another process.
        for _ in 0..<2 {
            if state.file >= 0, !isCurrent(state.file) { closeFile(&state) }
            if state.file < 0 { state.file = open() }
            guard state.file >= 0, let size = size(of: state.file), size > 0,
                size + count > maximumSize
            else { return }
            setAside(state.file)
            closeFile(&state)
        }
        // Other processes may set the file aside faster than this looks; the newest file has room.
        state.file = open()
    }

    private func closeFile(_ state: inout State) {
        if state.file >= 0 { _ = close(state.file) }
        state.file = -1
        state.isMidLine = false
    }

    private func append(_ text: String, _ state: inout State) -> Bool {
        guard state.file >= 0 else { return false }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes {
                // SAFETY: the buffer is valid for the call and its length is passed with it.
                unsafe systemWrite(state.file, $0.baseAddress, $0.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return false }
            bytes = bytes.dropFirst(written)
            state.isMidLine = !bytes.isEmpty
        }
        return true
    }

    // MARK: - Files

    private func open() -> Int32 {
        systemOpen(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    }

    private func size(of file: Int32) -> Int? {
        var status = stat()
        // SAFETY: `status` is a local that outlives the call.
        return unsafe fstat(file, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Whether the open file is still the one at the path.
    private func isCurrent(_ file: Int32) -> Bool {
        var (mine, there) = (stat(), stat())
        // SAFETY: the path is lent as a C string; both results are locals that outlive the calls.
        guard unsafe fstat(file, &mine) == 0, unsafe stat(path, &there) == 0 else { return false }
        return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino
    }

    /// Renames the files one place on; the oldest goes. Where that fails, the file is emptied: the
    /// limit on the size is a promise, and old entries are not.
    private func setAside(_ file: Int32) {
        var isAside = false
        if maximumCount > 1 {
            for place in stride(from: maximumCount - 1, to: 0, by: -1) {
                let from = place == 1 ? path : "\(path).\(place - 1)"
                // SAFETY: both paths are lent to the call as C strings.
                isAside = unsafe rename(from, "\(path).\(place)") == 0
            }
        }
        if !isAside { _ = ftruncate(file, 0) }
    }
}

/// The system call, which a method named `open` hides.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    // SAFETY: the path is lent to the call as a C string.
    unsafe open(path, flags, mode)
}
