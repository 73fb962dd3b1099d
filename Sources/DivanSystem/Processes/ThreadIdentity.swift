// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// A number that differs between any two threads that live at the same time, and is never 0.
package enum ThreadIdentity {
    /// The number of the calling thread.
    package static var current: UInt {
        #if canImport(Darwin)
        // SAFETY: the pointer is taken for its bits only.
        unsafe UInt(bitPattern: pthread_self())
        #else
        UInt(pthread_self())
        #endif
    }
}
