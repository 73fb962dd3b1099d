// SPDX-License-Identifier: Apache-2.0

/// What keeps content for the case that the transaction in which it was saved is undone.
protocol ContentHolder: AnyObject, Sendable {
    /// Lets go of content that has been committed.
    func releaseContent()
}
