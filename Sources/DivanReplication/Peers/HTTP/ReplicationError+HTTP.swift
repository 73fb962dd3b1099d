// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// The one table from answers to errors.
extension ReplicationError {
    /// Takes an answer that is no success.
    init(_ response: WireResponse, _ body: [UInt8], _ what: String, at name: String) {
        let answer = try? PackedValue(parsing: body)
        let words = (answer?["reason"]?.string ?? answer?["error"]?.string)?.beginning(300)
        let (code, isTransient) = Self.meaning(of: response.status)
        self.init(
            code,
            "'\(name)' answers \(what) with \(response.status): "
                + (words ?? "status \(response.status)"),
            status: response.status, isTransient: isTransient)
        quoted = words
        retryAfter = response.headers.retryAfter.map { Double($0) }
        // A refusal that says when it ends is one of a name that is locked for a while.
        if code == .forbidden, retryAfter != nil { self.isTransient = true }
    }

    /// Takes what a server says of one document among several.
    init(ofDocument id: DocumentID, error: String, reason: String?) {
        let code: Code
        var isTransient = false
        switch error {
        case "forbidden": code = .forbidden
        case "unauthorized": code = .unauthorized
        case "internal_server_error", "timeout", "service_unavailable", "unknown_error":
            (code, isTransient) = (.server, true)
        default: code = .rejected
        }
        let words = (reason ?? error).beginning(300)
        self.init(
            code, "The server refuses '\(id.text.bounded)': \(words)", documentID: id,
            isTransient: isTransient)
        quoted = words
    }

    /// What a status means for a replication.
    static func meaning(of status: Int) -> (code: Code, isTransient: Bool) {
        switch status {
        case 401, 407: (.unauthorized, false)
        case 403: (.forbidden, false)
        case 404, 410: (.notFound, false)
        case 408, 504: (.timeout, true)
        case 425, 429, 500...599: (.server, true)
        case 300...399: (.invalidAnswer, false)
        case 409, 412, 413, 415, 422: (.rejected, false)
        default: (.invalidAnswer, false)
        }
    }
}
