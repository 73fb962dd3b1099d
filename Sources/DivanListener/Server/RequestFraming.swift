// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// Refuses heads of which two readers can make different requests.
///
/// A proxy in front of the listener and the listener must agree where a request ends and which host it is for. A
/// client that leaves this open can hide a second request behind the first one, which the proxy has not seen
/// (RFC 9112, section 11.2). Such a request is answered 400, and its connection is closed, since what follows
/// on it cannot be told apart from its body.
///
/// What the library does not show cannot be refused: it cuts a target and the value of a field at a zero byte.
enum RequestFraming {
    /// What is wrong with a head; nil when there is one way to read it.
    static func failure(of headers: HTTPHeaders) -> HTTPFailure? {
        // The library takes the space in `Content-Length : 9` for a part of the name; a proxy may take it for nothing.
        guard headers.allSatisfy({ HTTPHeaders.isName($0.name) }) else {
            return namelessField
        }
        let lengths = headers.values(of: "Content-Length")
        let codings = headers.values(of: "Transfer-Encoding")
        if lengths.count > 1 {
            return refusal("The request has more than one Content-Length; send one.")
        }
        if !lengths.isEmpty, !codings.isEmpty {
            return refusal(
                "The request has Content-Length and Transfer-Encoding; send one of them.")
        }
        guard lengths.allSatisfy(isNumber) else {
            return refusal("The Content-Length of the request is no number.")
        }
        guard codings.isEmpty || codings.count == 1 && codings[0].lowercased() == "chunked" else {
            return refusal("The Transfer-Encoding of the request is not 'chunked'.")
        }
        guard headers.values(of: "Host").count < 2 else {
            return refusal("The request has more than one Host; send one.")
        }
        return nil
    }

    /// The refusal of a field whose name is no token.
    static var namelessField: HTTPFailure {
        refusal("The request has a field whose name is none; leave no space before a colon.")
    }

    private static func isNumber(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count < 19
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// The refusal of a head, behind which nothing is read on the connection.
    static func refusal(_ reason: String) -> HTTPFailure {
        HTTPFailure(400, "bad_request", reason, headers: ["Connection": "close"])
    }
}
