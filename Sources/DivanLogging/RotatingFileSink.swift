// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

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
        var file: FileHandle?
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

    /// Opens the file, or sets it aside when it is full. Without success there is no `file`.
    private func makeReady(_ state: inout State, forBytes count: Int) {
        // A second look: what was full may have been set aside by another process.
        for _ in 0..<2 {
            if let file = state.file, !file.isAtItsPath { closeFile(&state) }
            if state.file == nil { state.file = open() }
            guard let file = state.file, let size = file.length, size > 0,
                size + count > maximumSize
            else { return }
            setAside(file)
            closeFile(&state)
        }
        // Other processes may set the file aside faster than this looks; the newest file has room.
        state.file = open()
    }

    private func closeFile(_ state: inout State) {
        state.file = nil
        state.isMidLine = false
    }

    private func append(_ text: String, _ state: inout State) -> Bool {
        guard let file = state.file else { return false }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            guard let written = try? file.writeSome(bytes.span) else { return false }
            bytes = bytes.dropFirst(written)
            state.isMidLine = !bytes.isEmpty
        }
        return true
    }

    // MARK: - Files

    /// Opens the file, which may be a pipe or a terminal: then a slow reader is waited for.
    private func open() -> FileHandle? {
        try? FileHandle(anyKindAt: path, [.write, .create, .append, .waits])
    }

    /// Renames the files one place on; the oldest goes. Where that fails, the file is emptied: the
    /// limit on the size is a promise, and old entries are not.
    private func setAside(_ file: FileHandle) {
        var isAside = false
        if maximumCount > 1 {
            for place in stride(from: maximumCount - 1, to: 0, by: -1) {
                let from = place == 1 ? path : "\(path).\(place - 1)"
                isAside = (try? Files.rename(from, to: "\(path).\(place)")) != nil
            }
        }
        if !isAside { try? file.setLength(0) }
    }
}
