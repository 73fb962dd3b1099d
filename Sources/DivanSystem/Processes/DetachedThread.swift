// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// A thread of the system's that runs one closure and ends with it.
package enum DetachedThread {
    /// Starts a thread.
    ///
    /// - Parameter work: What it runs.
    /// - Throws: `SystemError` when the system gives no more threads.
    package static func start(_ work: @escaping @Sendable () -> Void) throws(SystemError) {
        // SAFETY: the thread takes over the reference that is passed to it, and returns it at its end.
        let context = unsafe Unmanaged.passRetained(Start(work))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            unsafe context.release()
            throw SystemError("pthread_create", "a thread", number: code)
        }
        pthread_detach(thread)
    }

    /// The closure that a thread begins with.
    private final class Start: Sendable {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
}
