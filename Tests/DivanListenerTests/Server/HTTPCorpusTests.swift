// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Requests as bytes on a socket, most of them broken, and what is answered to each.
@Suite(.timeLimit(.minutes(10))) struct HTTPCorpusTests {
    @Test(arguments: GoldenScript.all(in: "http"))
    func `bytes on a socket are answered as their scripts say`(script: GoldenScript) throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        try database.put("x", ["a": 1], parent: nil)
        // Bodies that do not end are waited for no longer than this.
        let listener = try site.listen { $0.limits.bodyGrace = .seconds(2) }
        defer { listener.stop() }
        try script.run(with: RawInterpreter(port: try #require(listener.port)))
    }

    @Test func `no pattern of a route, written into a path, breaks a handler`() throws {
        let site = try TestSite()
        let database = try site.manager.database(named: "db")
        try database.put("x", ["a": 1], parent: nil)
        let patterns = Set(Router.table.map(\.pattern)).subtracting(["/"]).sorted()
        var sent: Set<String> = []
        for pattern in patterns {
            let word = String(
                pattern.dropFirst().flatMap { character in
                    switch character {
                    case "/": "%2F"
                    case "{": "%7B"
                    case "}": "%7D"
                    default: String(character)
                    }
                })
            for route in Router.table {
                let holes = ["{doc}", "{attachment}", "{ddoc}", "{name}", "{id}"]
                let database = route.pattern == "/{db}" ? word : "db"
                let target = holes.reduce(route.pattern.replacing("{db}", with: database)) {
                    $0.replacing($1, with: word)
                }
                for target in [target, "/db/" + word, "/" + word]
                where sent.insert("\(route.method) \(target)").inserted {
                    let status = site.send(route.method, target, "{}").status
                    #expect(status < 500 || status == 501, "\(route.method) \(target)")
                }
            }
        }
        #expect(sent.count > 1_000)
        #expect(site.send("GET", "/db/x").status == 200)
    }
}

/// Sends the lines of a block over a connection of its own, each with CR LF behind it, and prints the answers.
///
///     .                a line of nothing but CR LF
///     text\            a line without CR LF
///     \r \n \0 \xFF    bytes
///     \<a*900>         900 times `a`
///     \shut            the client sends nothing more, and closes its side
///
/// Behind the block goes a request of which the answer shows that the connection is still in step: `open` then, and
/// `closed` where it is not.
private struct RawInterpreter: ScriptInterpreter {
    let port: UInt16
    private var bytes: [UInt8] = []
    private var closes = false

    init(port: UInt16) { self.port = port }

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        if command.text == "\\shut" {
            closes = true
            return []
        }
        var line = command.text == "." ? "" : command.text
        let isOpen = line.hasSuffix("\\")
        if isOpen { line.removeLast() }
        bytes += try Self.bytes(of: Array(line.utf8), command) + (isOpen ? [] : [13, 10])
        return []
    }

    private static func bytes(of line: [UInt8], _ command: ScriptCommand) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = line[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "0"): bytes.append(0)
            case UInt8(ascii: "x"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                rest = rest.dropFirst(2)
                bytes.append(try #require(UInt8(digits, radix: 16)))
            case UInt8(ascii: "<"):
                let inner = rest.prefix { $0 != UInt8(ascii: ">") }
                rest = rest.dropFirst(inner.count + 1)
                let parts = String(decoding: inner, as: UTF8.self).split(separator: "*")
                guard parts.count == 2, let count = Int(parts[1]) else {
                    throw ScriptCommand.Unknown(command)
                }
                let text = parts[0].replacing("~", with: "\r\n")
                for _ in 0..<count { bytes += text.utf8 }
            default: throw ScriptCommand.Unknown(command)
            }
        }
        return bytes
    }

    mutating func endBlock() -> [String] {
        defer { (bytes, closes) = ([], false) }
        guard let client = try? RawClient(port: port) else { return ["no connection"] }
        client.write(bytes)
        if closes { client.finish() } else { client.request("GET", "/_up") }
        var lines: [String] = []
        while let answer = client.answer() {
            let body = String(decoding: answer.body, as: UTF8.self)
            if body.hasPrefix(#"{"status":"ok""#) { return lines + ["open"] }
            let error = (try? JSONParser.parse(body))?["error"]?.string
            lines.append("\(answer.status)" + (error.map { " " + $0 } ?? ""))
        }
        return lines + [client.isSilent ? "silent" : "closed"]
    }
}
