// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Calls a handler when another process has committed: it watches the file `changes`.
///
/// The system wakes it when the file is written (inotify on Linux, a vnode source on Apple
/// platforms), so nobody polls. A timer rings every five seconds all the same, for the writer that
/// was killed between its commit and ringing the bell in the file.
///
/// State: `sources`, touched only on `queue`, where the handlers run, too.
final class DirectoryWatcher: Sendable {
    private let path: String
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "divan.watcher")
    private struct Sources {
        var source: (any DispatchSourceProtocol)?
        var timer: (any DispatchSourceTimer)?
    }
    // Safe because it is only touched on `queue`, which is serial.
    nonisolated(unsafe) private var sources = Sources()

    /// Makes a watcher. Where the system cannot watch the file, as when it has no more watches to
    /// give, only the timer is left.
    init(changesFile path: String) {
        self.path = path
        #if canImport(Glibc)
        let watch = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        // SAFETY: the path is lent to the call as a C string.
        if watch >= 0, unsafe inotify_add_watch(watch, path, UInt32(IN_MODIFY)) < 0 {
            close(watch)
            descriptor = -1
        } else {
            descriptor = watch
        }
        #else
        // SAFETY: the path is lent to the call as a C string.
        descriptor = unsafe open(path, O_EVTONLY | O_CLOEXEC)
        #endif
    }

    /// Begins to call `handler`, on a queue of its own.
    func start(_ handler: @escaping @Sendable () -> Void) {
        let descriptor = descriptor
        let source = descriptor >= 0 ? makeSource() : nil
        source?.setEventHandler {
            Self.drain(descriptor)
            handler()
        }
        source?.setCancelHandler { _ = close(descriptor) }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 5, repeating: 5, leeway: .seconds(1))
        timer.setEventHandler(handler: handler)
        queue.sync { unsafe sources = Sources(source: source, timer: timer) }
        source?.resume()
        timer.resume()
    }

    /// Stops for good; a handler that runs meanwhile is not waited for.
    ///
    /// Not `sync`: the last owner may let go of the watcher inside a handler, on this very queue.
    func stop() {
        queue.async { [self] in
            unsafe sources.source?.cancel()
            unsafe sources.timer?.cancel()
            unsafe sources = Sources()
        }
    }

    private func makeSource() -> any DispatchSourceProtocol {
        #if canImport(Glibc)
        DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        #else
        DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: .write, queue: queue)
        #endif
    }

    /// Empties the queue of events; which they are does not matter.
    private static func drain(_ descriptor: Int32) {
        #if canImport(Glibc)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        // SAFETY: the buffer is valid for the call and its length is passed with it.
        while unsafe buffer.withUnsafeMutableBytes({
            unsafe read(descriptor, $0.baseAddress, $0.count)
        }) > 0 {}
        #endif
    }
}
