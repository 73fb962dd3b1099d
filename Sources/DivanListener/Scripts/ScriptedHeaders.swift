// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// Header fields that a function of a design document gives.
enum ScriptedHeaders {
    /// More bytes of names and values than this might not fit beside the head of the request.
    private static let most = 8 << 10

    /// Fields that say where an answer ends and who sends it, which the server writes itself.
    private static let reserved: NameSet = [
        "connection", "content-length", "date", "keep-alive", "server", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    /// Fields that count for all that the listener serves, not for the answer alone: they are left out.
    private static let ofOrigin: NameSet = [
        "alt-svc", "clear-site-data", "nel", "public-key-pins", "report-to", "reporting-endpoints",
        "service-worker-allowed", "set-cookie", "strict-transport-security", "www-authenticate",
    ]

    /// Fields that show who the client is. A script that made them up could act for another one.
    private static let credentials: NameSet = [
        "authorization", "cookie", "host", "origin", "proxy-authorization",
    ]

    /// Reads the fields of an answer.
    ///
    /// Those that let pages of other origins read it are left out, since that is the listener's to decide.
    ///
    /// - Throws: `HTTPFailure` 500 for what is no header field, or would break the answer.
    static func read(_ value: PackedValue) throws -> HTTPHeaders {
        var headers = HTTPHeaders()
        try forEach(value) { name, text in
            guard !reserved.contains(name.lowercased()) else {
                throw ScriptedAnswer.failure("the header field `\(name)` is the server's")
            }
            guard !name.lowercased().hasBytePrefix("access-control-"),
                !ofOrigin.contains(name.lowercased())
            else { return }
            headers.add(name, text)
        }
        return headers
    }

    /// Puts the fields of a rewriting over those of a request, but for those that show who makes it.
    ///
    /// - Throws: As ``read(_:)``.
    static func merge(_ value: PackedValue, into headers: inout HTTPHeaders) throws {
        try forEach(value) { name, text in
            let lowered = name.lowercased()
            guard !reserved.contains(lowered), !credentials.contains(lowered),
                !lowered.hasBytePrefix("x-auth-couchdb-"), !lowered.hasBytePrefix("x-forwarded-")
            else { return }
            headers[name] = text
        }
    }

    private static func forEach(
        _ value: PackedValue, _ take: (_ name: String, _ text: String) throws -> Void
    ) throws {
        guard value.isObject else { throw ScriptedAnswer.failure("`headers` is no object") }
        var length = 0
        try value.forEachProperty { name, value in
            guard HTTPHeaders.isName(name), let text = value.string, isValue(text) else {
                throw ScriptedAnswer.failure("`headers` has what is no header field")
            }
            length += name.utf8.count + text.utf8.count + 4
            guard length <= most else { throw ScriptedAnswer.failure("`headers` is too long") }
            try take(name, text)
        }
    }

    /// Whether a text stands in a head as it is: a line break would end the field.
    private static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
