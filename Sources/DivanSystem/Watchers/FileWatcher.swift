// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
package import Dispatch
internal import Synchronization

/// Calls a handler when a file is written, by this or by another process.
///
/// The system wakes it when the file is written (inotify on Linux, a vnode source on Apple
/// platforms), so there is no polling. A timer fires every five seconds all the same, for a writer
/// that was killed before it wrote the file.
///
/// State: `sources`, guarded by its mutex.
package final class FileWatcher: Sendable {
    private let path: String
    private let descriptor: Int32
    private struct Sources {
        var source: (any DispatchSourceProtocol)?
        var timer: (any DispatchSourceTimer)?
        var isStopped = false
    }
    private let sources = Mutex(Sources())

    /// Makes a watcher. Where the system cannot watch the file, as when it has no more watches to
    /// give, only the timer is left.
    ///
    /// - Parameter path: The file.
    package init(_ path: String) {
        self.path = path
        #if canImport(Darwin)
        // SAFETY: the path is lent to the call as a C string.
        descriptor = unsafe open(path, O_EVTONLY | O_CLOEXEC)
        #else
        let watch = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        // SAFETY: the path is lent to the call as a C string.
        if watch >= 0, unsafe inotify_add_watch(watch, path, UInt32(IN_MODIFY)) < 0 {
            close(watch)
            descriptor = -1
        } else {
            descriptor = watch
        }
        #endif
    }

    deinit { stop() }

    /// Begins to call the handler.
    ///
    /// - Parameters:
    ///   - queue: Where the handler runs.
    ///   - handler: Called when the file may have been written.
    package func start(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) {
        let descriptor = descriptor
        sources.withLock { sources in
            guard !sources.isStopped else { return }
            if descriptor >= 0 {
                let source = makeSource(queue)
                source.setEventHandler {
                    Self.drain(descriptor)
                    handler()
                }
                source.setCancelHandler { Descriptors.close(descriptor) }
                source.resume()
                sources.source = source
            }
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + 5, repeating: 5, leeway: .seconds(1))
            timer.setEventHandler(handler: handler)
            timer.resume()
            sources.timer = timer
        }
    }

    /// Stops for good, without waiting for a handler that runs meanwhile.
    package func stop() {
        sources.withLock { sources in
            guard !sources.isStopped else { return }
            // Without a source, only this closes the descriptor.
            if let source = sources.source {
                source.cancel()
            } else if descriptor >= 0 {
                Descriptors.close(descriptor)
            }
            sources.timer?.cancel()
            sources = Sources(isStopped: true)
        }
    }

    private func makeSource(_ queue: DispatchQueue) -> any DispatchSourceProtocol {
        #if canImport(Darwin)
        DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: .write, queue: queue)
        #else
        DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        #endif
    }

    /// Empties the queue of events; which they are does not matter.
    private static func drain(_ descriptor: Int32) {
        #if !canImport(Darwin)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        // SAFETY: the buffer is valid for the call and its length is passed with it.
        while unsafe buffer.withUnsafeMutableBytes({
            unsafe read(descriptor, $0.baseAddress, $0.count)
        }) > 0 {}
        #endif
    }
}
