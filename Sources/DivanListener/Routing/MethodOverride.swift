// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

extension ListenerRequest {
    /// The methods that a client may mean by a `POST`.
    private static let overriding = ["GET", "HEAD", "PUT", "DELETE", "COPY"]

    /// The request that its client means: one that can send nothing but `POST` says in `X-HTTP-Method-Override` what else it asks for,
    /// as in CouchDB.
    ///
    /// A page of another origin cannot set that header field unless the listener's options let it.
    var meant: ListenerRequest {
        guard head.method == "POST", let field = head.headers["X-HTTP-Method-Override"] else {
            return self
        }
        let method = field.uppercased()
        guard Self.overriding.contains(method) else { return self }
        var request = self
        request.head.method = method
        return request
    }
}
