// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import Testing

@testable import DivanListener

/// Which requests the server's own thread answers, and which it hands over.
@Suite struct AnswerAtOnceTests {
    @Test func `a document and a checkpoint are answered at once`() throws {
        let site = try filled()
        for target in ["/", "/_up", "/db/a", "/db/none", "/db/_design/d", "/db/_local/c"] {
            #expect(site.answersAtOnce("GET", target), "\(target)")
            #expect(site.answersAtOnce("HEAD", target), "\(target)")
        }
    }

    @Test(arguments: [
        ("GET", "/db/a?attachments=true"), ("GET", "/db/a?rev=1-x"), ("GET", "/db/_changes"),
        ("GET", "/db/_all_docs"), ("GET", "/db"), ("GET", "/db/a/file"), ("GET", "/other"),
        ("PUT", "/db/a"), ("DELETE", "/db/a"), ("POST", "/db/_find"), ("OPTIONS", "/db/a"),
        ("GET", "/db/a%"),
    ])
    func `what may take longer goes to a worker`(method: String, target: String) throws {
        let site = try filled()
        #expect(!site.answersAtOnce(method, target))
    }

    @Test func `a large document goes to a worker`() throws {
        let site = try filled()
        let text = String(repeating: "x", count: 100_000)
        site.send("PUT", "/db/large", "{\"text\":\"\(text)\"}")
        #expect(!site.answersAtOnce("GET", "/db/large"))
        #expect(site.send("GET", "/db/large").bytes.count > 100_000)
    }

    @Test func `a database that is not open goes to a worker`() throws {
        let site = try filled()
        try site.manager.database(named: "db").close()
        #expect(!site.answersAtOnce("GET", "/db/a"))
        #expect(site.send("GET", "/db/a").status == 200)
        #expect(site.answersAtOnce("GET", "/db/a"))
    }

    @Test
    func `a password that must be hashed goes to a worker, one that was right lately does not`()
        throws
    {
        let site = try filled { $0.access = .users(["a": "b"]) }
        #expect(site.answersAtOnce("GET", "/db/a", ["Authorization": "Basic YTpi"]))
        #expect(!site.answersAtOnce("GET", "/db/a", ["Authorization": "Basic YTpj"]))
    }

    @Test func `the rules of an app run on workers`() throws {
        let reading = try filled { $0.authorization.reading = { _, _, _ in true } }
        #expect(!reading.answersAtOnce("GET", "/db/a"))
        let request = try filled { $0.authorization.request = { _, _, _ in true } }
        #expect(!request.answersAtOnce("GET", "/db/a"))
        let writing = try filled { $0.authorization.writing = { _, _, _ in true } }
        #expect(writing.answersAtOnce("GET", "/db/a"))
    }

    @Test func `a foreign page is refused at once, too`() throws {
        let site = try filled()
        let headers: HTTPHeaders = ["Host": "evil.example"]
        #expect(site.send("GET", "/db/a", "", headers).status == 403)
        #expect(site.answersAtOnce("GET", "/db/a", headers))
    }

    private func filled(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> TestSite {
        let site = try TestSite(edit)
        let database = try site.manager.database(named: "db")
        try database.save(MutableDocument(["n": 1], id: "a"))
        return site
    }
}

extension TestSite {
    /// Whether the server's own thread answers a request.
    fileprivate func answersAtOnce(
        _ method: String, _ target: String, _ headers: HTTPHeaders = [:]
    ) -> Bool {
        var head = RequestHead(method: method, target: target, headers: headers)
        if head.headers["Host"] == nil { head.headers["Host"] = "localhost" }
        return router.answerAtOnce(ListenerRequest(head)) != nil
    }
}
