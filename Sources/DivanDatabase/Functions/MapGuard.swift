// SPDX-License-Identifier: Apache-2.0

/// Tells whether the calling code runs inside a map or reduce function, which must not write.
package enum MapGuard {
    /// Whether it does; set for the time of a call.
    @TaskLocal package static var isMapping = false
}
