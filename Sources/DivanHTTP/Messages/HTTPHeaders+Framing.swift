// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

// Fields that belong to the protocol, and not to those who send a request.
extension HTTPHeaders {
    /// Whether a field says where a request goes or where its body ends, so that only the transport sets it.
    ///
    /// One of another value would have the server take a part of a request for the next one, or ask another server.
    ///
    /// - Parameter name: The field's name, in any case.
    /// - Returns: Whether it is one of these.
    package static func isFraming(_ name: String) -> Bool {
        framing.contains(name.lowercased())
    }

    private static let framing: NameSet = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]
}
