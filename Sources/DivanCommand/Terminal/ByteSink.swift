// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// A buffered output of bytes: a file descriptor, or memory in tests.
final class ByteSink: Sendable {
    /// 64 kB: the capacity of a pipe, so that one flush is one system call.
    private static let capacity = 1 << 16

    /// Guarded by its own lock; the descriptor never changes.
    private let buffer = Mutex<[UInt8]>([])
    private let descriptor: Int32?
    private let flushesEachWrite: Bool

    /// Makes a sink that writes to a descriptor, or with `nil` keeps everything in memory.
    init(descriptor: Int32?, flushesEachWrite: Bool = false) {
        self.descriptor = descriptor
        self.flushesEachWrite = flushesEachWrite
    }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        try buffer.withLock { (buffer) throws(CommandFailure) in
            buffer += bytes
            if flushesEachWrite || buffer.count >= Self.capacity { try flush(&buffer) }
        }
    }

    func write(_ text: String) throws(CommandFailure) {
        try buffer.withLock { (buffer) throws(CommandFailure) in
            buffer += text.utf8
            if flushesEachWrite || buffer.count >= Self.capacity { try flush(&buffer) }
        }
    }

    func flush() throws(CommandFailure) {
        try buffer.withLock { (buffer) throws(CommandFailure) in try flush(&buffer) }
    }

    /// What was written and not flushed: everything, for a sink in memory.
    var contents: String {
        buffer.withLock { String(decoding: $0, as: UTF8.self) }
    }

    private func flush(_ buffer: inout [UInt8]) throws(CommandFailure) {
        guard let descriptor, !buffer.isEmpty else { return }
        let pending = buffer
        // Emptied first: what could not be written once is not tried again at exit.
        buffer.removeAll(keepingCapacity: true)
        do {
            try Descriptors.writeAll(pending.span, to: descriptor)
        } catch {
            throw CommandFailure(.failure, "The output could not be written: \(error.reason).")
        }
    }
}
