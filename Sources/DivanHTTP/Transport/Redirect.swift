// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Where an answer sends a request on to, and what of the request goes along.
package enum Redirect {
    /// Fields that tell nothing about who asks, and so may go to another server.
    private static let harmless: NameSet = [
        "accept", "accept-encoding", "accept-language", "content-type", "content-encoding",
        "if-match", "if-none-match", "user-agent", "x-accept-part-encoding",
    ]

    /// The next request; `nil` when the answer is one to keep.
    ///
    /// - Throws: `HTTPError` `.badRedirect` when it leads nowhere, from `https` to `http`, or to another server with a
    ///   secret body.
    package static func next(_ request: HTTPRequest, _ head: HTTPResponseHead) throws
        -> HTTPRequest?
    {
        guard [301, 302, 303, 307, 308].contains(head.status),
            let location = head.headers["Location"]
        else { return nil }
        let url: HTTPURL
        do { url = try request.url.resolving(location) } catch {
            throw HTTPError.badRedirect(request.url, error.description)
        }
        guard url.isSecure || !request.url.isSecure else {
            throw HTTPError.badRedirect(request.url, "from https to http.")
        }
        var next = request
        next.url = url
        next.url.user = nil
        if !url.hasSameOrigin(as: request.url) {
            next.headers = HTTPHeaders(
                request.headers.filter { harmless.contains($0.name.lowercased()) }
                    .map { ($0.name, $0.value) })
        }
        if head.status == 303, request.method != .head {
            next.method = .get
            next.body = .none
            next.hasSecretBody = false
            next.headers["Content-Type"] = nil
        }
        guard !next.hasSecretBody || url.hasSameOrigin(as: request.url) else {
            throw HTTPError.badRedirect(
                request.url, "to \(url.origin), which would be told the password; name that server."
            )
        }
        return next
    }
}
