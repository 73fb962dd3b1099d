// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// A router over databases of its own, which go with it.
final class TestSite: Sendable {
    let folder: URL
    let manager: Manager
    let router: Router

    /// A folder for databases.
    static func newFolder() -> URL {
        FileManager.default.temporaryDirectory
            .appending(path: "divan-listener-\(UUID().uuidString)")
    }

    init(
        _ edit: (inout ListenerOptions) -> Void = { _ in }, folder: URL = newFolder()
    ) throws {
        self.folder = folder
        manager = try Manager(directory: folder)
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        edit(&options)
        router = Router(site: try Site(manager, options))
    }

    deinit {
        manager.close()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Sends a request and collects the whole answer, as far as it comes without waiting.
    @discardableResult
    func send(
        _ method: String, _ target: String, _ body: String = "", _ headers: HTTPHeaders = [:],
        key: [UInt8]? = nil
    ) -> TestAnswer {
        send(method, target, Array(body.utf8), headers, key: key)
    }

    @discardableResult
    func send(
        _ method: String, _ target: String, _ body: [UInt8], _ headers: HTTPHeaders = [:],
        key: [UInt8]? = nil
    ) -> TestAnswer {
        var head = RequestHead(method: method, target: target, headers: headers)
        head.certificate.key = key
        if head.headers["Host"] == nil { head.headers["Host"] = "localhost" }
        if method == "POST", head.headers["Content-Type"] == nil {
            head.headers["Content-Type"] = "application/json"
        }
        let request = ListenerRequest(head, body: .bytes(body))
        // The daemon's thread and a worker give the same answer, unless something has happened between the two.
        for _ in 0..<9 {
            guard let atOnce = router.answerAtOnce(request).map(TestAnswer.init) else { break }
            let answer = TestAnswer(router.respond(request))
            if atOnce.isSame(as: answer) { return answer }
        }
        let atOnce = router.answerAtOnce(request).map(TestAnswer.init)
        let answer = TestAnswer(router.respond(request))
        #expect(atOnce?.isSame(as: answer) ?? true)
        return answer
    }
}

/// An answer with its whole body.
struct TestAnswer: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var bytes: [UInt8]
    /// Whether the answer would go on if the client waited.
    var isWaiting = false
    var failure: String?

    init(_ response: ListenerResponse) {
        status = response.status
        headers = response.headers
        bytes = []
        switch response.body {
        case .bytes(let whole): bytes = whole
        case .stream(let producer, _):
            defer { producer.cancel() }
            producer.whenReady {}
            do {
                reading: while true {
                    switch try producer.next() {
                    case .bytes(let piece): bytes += piece
                    case .end: break reading
                    case .wait(let duration) where duration == .zero: continue
                    case .wait:
                        isWaiting = true
                        break reading
                    }
                }
            } catch { failure = "\(error)" }
        }
    }

    func isSame(as other: TestAnswer) -> Bool {
        status == other.status && headers == other.headers && bytes == other.bytes
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var json: JSONValue { (try? JSONParser.parse(text)) ?? .null }
}

/// Gives the commands of a script the meaning of requests:
///
///     PUT /notes/n1 {"a":1}
///     GET /notes/n1?rev=$rev Accept:multipart/mixed
///
/// A word `Name:value` before the body is a header field. The answer is printed as its status and its
/// body; `$rev` is the last revision that an answer named. Boundaries are printed as `BOUNDARY`, the lives in sequences as
/// `LIFE`, and how long a search took as `TIME`.
struct TranscriptInterpreter: ScriptInterpreter {
    let site: TestSite
    private var revision = ""
    private var shownHeaders: [String] = []

    init(_ site: TestSite) { self.site = site }

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        var words = command.text.split(separator: " ", omittingEmptySubsequences: false)[...]
        let method = String(words.removeFirst())
        if method == "show" {
            shownHeaders = words.map(String.init)
            return []
        }
        let target = String(words.removeFirst()).replacingOccurrences(of: "$rev", with: revision)
        var headers = HTTPHeaders()
        while let word = words.first, let colon = word.firstIndex(of: ":"),
            word.first.map({ $0.isUppercase }) ?? false
        {
            let value = word[word.index(after: colon)...]
                .replacingOccurrences(of: "$rev", with: revision)
                .replacingOccurrences(of: "~", with: " ")
            headers.add(String(word[..<colon]), value)
            words.removeFirst()
        }
        let body = words.joined(separator: " ")
            .replacingOccurrences(of: "$rev", with: revision)
            .replacingOccurrences(of: "\\r\\n", with: "\r\n")
        let answer = site.send(method, target, body, headers)
        if let found = answer.json["rev"]?.string ?? answer.json["_rev"]?.string {
            revision = found
        }
        return lines(of: answer)
    }

    private func lines(of answer: TestAnswer) -> [String] {
        var lines = ["\(answer.status)"]
        var text = answer.text
        if let boundary = answer.headers["Content-Type"]
            .flatMap({ HeaderParameters($0)["boundary"] })
        {
            text = text.replacingOccurrences(of: boundary, with: "BOUNDARY")
        }
        text = text.replacing(#/((?:"|\nid: )[0-9]+-)[A-Za-z0-9_~]{11}(?=["\n])/#) { "\($0.1)LIFE" }
        text = text.replacing(#/"update_latency":[0-9]+/#) { _ in "\"update_latency\":TIME" }
        for name in shownHeaders {
            guard let value = answer.headers[name] else { continue }
            lines.append(
                "\(name): "
                    + (value.contains("boundary") ? String(value.prefix { $0 != ";" }) : value))
        }
        lines += text.replacingOccurrences(of: "\r\n", with: "\n").split(separator: "\n").map {
            "  " + $0
        }
        if answer.isWaiting { lines.append("(waits)") }
        if let failure = answer.failure { lines.append("broken off: \(failure)") }
        return lines
    }
}
