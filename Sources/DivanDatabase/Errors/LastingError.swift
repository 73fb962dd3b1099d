// SPDX-License-Identifier: Apache-2.0

/// An error that knows whether trying the same again would end in it once more.
package protocol LastingError: Error {
    /// Whether another try would fail alike.
    var isLasting: Bool { get }
}
