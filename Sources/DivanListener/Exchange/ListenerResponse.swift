// SPDX-License-Identifier: Apache-2.0

package import DivanHTTP
internal import DivanJSON

/// An answer: a status, header fields, and a body that is there or comes piece by piece.
package struct ListenerResponse: Sendable {
    /// A body.
    package enum Body: Sendable {
        /// All of it.
        case bytes([UInt8])
        /// Pieces that are made when the client has taken those before. `length` is what they add
        /// up to, when that is known.
        case stream(any ResponseProducer, length: Int?)
    }

    /// The status, such as 200.
    package var status: Int
    /// The status of a redirect whose URL finds no room in the head, so that it leads nowhere.
    var statusAlone = 200
    /// The header fields, without those that the server adds (`Date`, `Content-Length`).
    package var headers: HTTPHeaders
    /// The body.
    package var body: Body
    /// What the request has reserved, until the answer is done.
    var memory: RequestMemory?

    /// Makes an answer.
    package init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension ListenerResponse {
    /// An answer in JSON; like CouchDB's it ends in a line feed, so that it reads well in a terminal.
    static func json(_ value: JSONValue, status: Int = 200) -> ListenerResponse {
        var bytes: [UInt8] = []
        JSONWriter.append(value, to: &bytes)
        return json(bytes: bytes, status: status)
    }

    /// An answer in JSON that is written already.
    static func json(bytes: consuming [UInt8], status: Int = 200) -> ListenerResponse {
        bytes.append(JSONByte.lineFeed)
        var response = ListenerResponse(status: status, body: .bytes(bytes))
        response.headers["Content-Type"] = "application/json"
        response.headers["Cache-Control"] = "must-revalidate"
        return response
    }

    /// A body of JSON that comes in pieces.
    static func json(steps: some ResponseSteps) -> ListenerResponse {
        var response = ListenerResponse(
            status: 200, body: .stream(SteppedProducer(steps), length: nil))
        response.headers["Content-Type"] = "application/json"
        response.headers["Cache-Control"] = "must-revalidate"
        return response
    }

    /// The usual answer to a change that succeeded.
    static func done(status: Int = 200) -> ListenerResponse { json(["ok": true], status: status) }

    /// The same answer with another header field.
    func with(_ name: String, _ value: String) -> ListenerResponse {
        var response = self
        response.headers[name] = value
        return response
    }
}
