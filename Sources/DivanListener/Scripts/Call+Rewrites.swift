// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// Rewriting: a request becomes another one, by the rules or the function of a design document.
extension Call {
    /// Any method on `/{db}/_design/{ddoc}/_rewrite/{path}`
    ///
    /// - Throws: `Rewritten`, which the router answers by the other request, and `HTTPFailure`.
    func rewrite() throws -> ListenerResponse {
        let document = try design(name(0))
        let rewrites = document["rewrites"].value
        if let rules = rewrites?.array {
            let isInside = site.configuration.settings.keepsRewritesInside
            throw try rewritten(by: RewriteRule.rules(rules, isInside: isInside))
        }
        guard rewrites?.string != nil else { throw Self.noRewriting }
        try checkScripts()
        let functions = try database.designDocuments.functions(of: document)
        let request = try scriptRequest(id: nil, body: textBody(), isRewriting: true)
        let answer = try functions.call(["rewrites"], [ScriptText.text(.object(request))])
        guard answer[0]?.string == "ok", let result = answer[1] else { throw Self.noRewriting }
        guard result.isObject else { throw Self.bad("rewrite") }
        if let code = result["code"] { return try answerAtOnce(code, result) }
        throw try rewritten(by: result)
    }

    private static var noRewriting: HTTPFailure {
        HTTPFailure(404, "rewrite_error", "Invalid path.")
    }

    private static func bad(_ part: String) -> HTTPFailure {
        HTTPFailure(500, "rewrite_error", "bad \(part)")
    }

    private func rewritten(by rules: [RewriteRule]) throws -> Rewritten {
        let path = Array(resource.names.dropFirst())
        let parameters = try RewriteRule.parameters(of: query)
        let start = RewrittenPath(databaseName, name(0))
        for rule in rules {
            let target = try rule.target(
                path, request.head.method, parameters, from: start,
                limit: site.options.limits.headLength)
            guard let target else { continue }
            try checkLeaving(by: request.head.method, to: target.path)
            return try Rewritten(self, to: target.path.text + target.query)
        }
        throw HTTPFailure.missing
    }

    private static let readingMethods: NameSet = ["GET", "HEAD"]

    /// Refuses a request that leads out of its database, unless it only reads. An author of design documents of one database could otherwise
    /// change another one in the name of its users.
    private func checkLeaving(by method: String, to path: RewrittenPath) throws {
        let isInside = databaseName.hasSameBytes(as: path.components.first)
        guard isInside || Self.readingMethods.contains(method) else {
            throw HTTPFailure.leavingRewrite
        }
    }

    // MARK: - What a function answers

    /// The answer of a function that answers itself.
    private func answerAtOnce(_ code: PackedValue, _ result: PackedValue) throws -> ListenerResponse
    {
        guard let status = try? ScriptedAnswer.status(code) else { throw Self.bad("code") }
        let body = try Self.text("body", result) ?? ""
        var response = ListenerResponse(status: status)
        if let headers = result["headers"] {
            do { response.headers = try ScriptedHeaders.read(headers) } catch {
                throw Self.bad("headers")
            }
        }
        response.headers.add("Content-Security-Policy", "sandbox")
        if ![204, 205, 304].contains(status) { response.body = .bytes(Array(body.utf8)) }
        return response
    }

    /// The request that a function asks for in place of the one that came.
    private func rewritten(by result: PackedValue) throws -> Rewritten {
        guard let written = result["path"] else {
            throw HTTPFailure(500, "rewrite_error", "Rewrite result must produce a new path.")
        }
        guard let text = written.string else { throw Self.bad("path") }
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = try rewrittenPath(String(text[..<(mark ?? text.endIndex)]))
        let method = try Self.text("method", result) ?? request.head.method
        guard HTTPHeaders.isName(method) else { throw Self.bad("method") }
        try checkLeaving(by: method, to: path)
        let reads = Self.readingMethods
        // A user who follows a link asks for nothing that changes data.
        let stays = reads.contains(method) || Self.reads(method, path.components)
        guard !reads.contains(request.head.method) || stays else {
            throw HTTPFailure(
                500, "insecure_rewrite_rule", "a request that reads stays one that reads")
        }
        var headers = self.headers
        if let value = result["headers"] {
            do { try ScriptedHeaders.merge(value, into: &headers) } catch {
                throw Self.bad("headers")
            }
        }
        // One that stands in the path counts before that of the request.
        let query =
            try Self.query(result) ?? mark.map { String(text[$0...]) } ?? queryText
        let body = try Self.text("body", result).map { Array($0.utf8) }
        return try Rewritten(self, to: path.text + query) { request in
            request.head.method = method
            request.head.headers = headers
            guard let body else { return }
            request.body = .bytes(body)
            request.head.headers["Content-Length"] = "\(body.count)"
            request.head.headers["Content-Encoding"] = nil
            request.head.headers["Transfer-Encoding"] = nil
        }
    }

    /// Whether a request of a method on a path only reads, and becomes no other one.
    private static func reads(_ method: String, _ path: [String]) -> Bool {
        guard let route = Router.routes[Resource(path).pattern]?[method] else { return false }
        return !route.isWrite && !route.isRewriting
    }

    private func rewrittenPath(_ text: String) throws -> RewrittenPath {
        var path = RewrittenPath(databaseName, name(0))
        for part in text.utf8.split(separator: UInt8(ascii: "/")) {
            let word = String(Substring(part))
            guard let name = PercentEncoding.decode(word), !name.containsByte(0) else {
                throw Self.bad("path")
            }
            if word == "." || word == ".." {
                guard path.follow(word) else { throw Self.bad("path") }
            } else {
                path.append(name)
            }
        }
        return path
    }

    /// The query that a function gives, of texts by their names; nil when it gives none.
    private static func query(_ result: PackedValue) throws -> String? {
        guard let query = result["query"] else { return nil }
        guard query.isObject else { throw bad("query") }
        var items: [(name: String, value: String)] = []
        try query.forEachProperty { name, value in
            guard let text = value.string else {
                throw HTTPFailure(500, "rewrite_error", "object key/value must be strings k=v")
            }
            items.append((name, text))
        }
        return items.isEmpty ? "" : "?" + PercentEncoding.query(items)
    }

    /// The query of the request as it was sent, with its mark.
    private var queryText: String {
        let target = request.head.target
        return target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[$0...]) } ?? ""
    }

    /// A member that is a text, if it is there.
    private static func text(_ name: String, _ result: PackedValue) throws -> String? {
        guard let value = result[name] else { return nil }
        guard let text = value.string else { throw bad(name) }
        return text
    }
}

extension HTTPFailure {
    /// The refusal of a rewriting that leads out of its database.
    static var leavingRewrite: HTTPFailure {
        HTTPFailure(500, "insecure_rewrite_rule", "too many ../.. segments")
    }
}
