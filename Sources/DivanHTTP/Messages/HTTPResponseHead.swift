// SPDX-License-Identifier: Apache-2.0

/// The head of a response: status and header fields.
package struct HTTPResponseHead: Sendable, Hashable {
    /// The status, such as 200.
    package var status: Int
    /// The header fields.
    package var headers: HTTPHeaders

    /// Makes a head.
    package init(status: Int, headers: HTTPHeaders = HTTPHeaders()) {
        self.status = status
        self.headers = headers
    }

    /// Whether the status says that the request succeeded: 200 to 299.
    package var isSuccess: Bool { (200...299).contains(status) }
}
