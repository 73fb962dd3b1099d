// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport

/// What a server sends that wants its client's memory.
enum GreedyAnswer: String, CaseIterable, Sendable {
    /// A row of the changes feed that never ends.
    case row
    /// Members beside the rows that never end.
    case members
    /// Rows that never end, each with thousands of revisions.
    case rows
    /// A row of a continuous feed that never ends.
    case liveRow
    /// Documents of tiny values that take more than a replication may have.
    case values
    /// Four documents at once, each of which takes most of what a replication may have.
    case documents
    /// Documents with content in place, faster than they can be stored.
    case contents
    /// A document in a part that is packed.
    case packedPart
    /// Attachments that no document speaks of.
    case parts
    /// An error that never ends.
    case error
    /// A checkpoint of tiny values.
    case checkpoint
    /// A packed description of the database.
    case packedInformation
}

/// A server that sends an answer of this kind, and for the rest is one with eight documents.
final class GreedyServer: Sendable {
    /// The name of the database that asks for little.
    static let modest = "modest"
    private static let megabyte = 1 << 20

    private let greedy: GreedyAnswer
    /// White space behind a bracket, which is made before anything is measured.
    private let bomb: [UInt8]

    init(_ greedy: GreedyAnswer) {
        self.greedy = greedy
        let isPacked = greedy == .packedPart || greedy == .packedInformation
        let plain = [UInt8(ascii: "{")] + [UInt8](repeating: 0x20, count: isPacked ? 200 << 20 : 1)
        bomb = GzipCoding.encode(plain) ?? []
    }

    func start() throws -> LoopbackServer {
        try LoopbackServer { [self] request, connection in
            let sides = request.target.split(separator: "?", maxSplits: 1).map(String.init)
            let path = sides[0].split(separator: "/").map(String.init)
            let query = sides.count > 1 ? sides[1] : ""
            let isGreedy = path.first != Self.modest
            if !isGreedy || !answer(path.dropFirst().first ?? "", query, connection) {
                answerModestly(path.dropFirst().first ?? "", query, connection)
            }
        }
    }

    private static let json = [("Content-Type", "application/json")]

    private static func row(_ number: Int) -> String {
        #"{"seq":\#(number),"id":"d\#(number)","changes":[{"rev":"1-a"}]}"#
    }

    private func answerModestly(_ name: String, _ query: String, _ connection: LoopbackConnection) {
        let rows = (1...8).map(Self.row).joined(separator: ",")
        let body: String
        switch name {
        case "": body = #"{"db_name":"db","update_seq":8}"#
        case "_changes" where !query.contains("since=8"):
            body = #"{"results":[\#(rows)],"last_seq":8,"pending":0}"#
        case "_changes": body = #"{"results":[],"last_seq":8,"pending":0}"#
        case "_bulk_get":
            let documents = (1...8).map {
                #"{"id":"d\#($0)","docs":[{"ok":{"_id":"d\#($0)","_rev":"1-a"}}]}"#
            }
            body = #"{"results":[\#(documents.joined(separator: ","))]}"#
        default:
            connection.respond(
                status: 404, headers: Self.json,
                body: Array(#"{"error":"not_found","reason":"missing"}"#.utf8))
            return
        }
        connection.respond(status: 200, headers: Self.json, body: Array(body.utf8))
    }

    /// Sends the greedy answer; false where another one is asked for.
    private func answer(_ name: String, _ query: String, _ connection: LoopbackConnection) -> Bool {
        let endless = 400 * Self.megabyte
        switch (greedy, name) {
        case (.row, "_changes"):
            send(#"{"results":[{"seq":1,"id":"d1","x":["#, "{},", endless, "", connection)
        case (.members, "_changes"):
            send("{", #""abcdefgh":[1,2,3,4,5,6,7,8,9],"#, endless, "", connection)
        case (.rows, "_changes"):
            let revisions = (1...5_000).map { #"{"rev":"\#($0)-a"}"# }.joined(separator: ",")
            send(
                #"{"results":["#, #"{"seq":1,"id":"d1","changes":[\#(revisions)]},"#, endless, "",
                connection)
        case (.liveRow, "_changes") where query.contains("feed=continuous"):
            send(#"{"seq":9,"id":"d1","x":["#, "[],", endless, "", connection)
        case (.values, "_bulk_get"): documents(8, #""x":["#, "1,", 24, "1]", connection)
        case (.documents, "_bulk_get"): documents(4, #""x":["#, "{},", 10, "1]", connection)
        case (.contents, "_bulk_get"):
            documents(
                8, #""_attachments":{"a":{"data":""#, "AAAA", 6, #""}}"#, connection)
        case (.packedPart, "_bulk_get"):
            let head =
                "--b\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n"
            connection.respond(
                status: 200, headers: [("Content-Type", "multipart/mixed; boundary=b")],
                body: Array(head.utf8) + bomb + Array("\r\n--b--".utf8))
        case (.parts, "_bulk_get"):
            let document =
                #"{"_id":"d1","_rev":"1-a","_attachments":{"a":{"follows":true,"length":1}}}"#
            send(
                "--b\r\nContent-Type: multipart/related; boundary=c\r\n\r\n--c\r\n\r\n"
                    + document, "\r\n--c\r\nX: \(String(repeating: "y", count: 9_000))\r\n\r\nx",
                endless, "", connection, type: "multipart/mixed; boundary=b")
        case (.error, "_changes"):
            send(#"{"error":""#, "xxxxxxxx", endless, "", connection, status: 500)
        case (.checkpoint, "_local"):
            send(#"{"history":["#, "{},", 15 * Self.megabyte, "1]}", connection)
        case (.packedInformation, ""):
            connection.respond(
                status: 200, headers: Self.json + [("Content-Encoding", "gzip")], body: bomb)
        default: return false
        }
        return true
    }

    /// Sends an answer of `_bulk_get` with documents, each of which holds so many megabytes of a text.
    private func documents(
        _ count: Int, _ begin: String, _ unit: String, _ megabytes: Int, _ end: String,
        _ connection: LoopbackConnection
    ) {
        guard self.begin(connection, 200, "application/json") else { return }
        for number in 1...count {
            let head =
                (number == 1 ? #"{"results":["# : ",")
                + #"{"id":"d\#(number)","docs":[{"ok":{"_id":"d\#(number)","_rev":"1-a","# + begin
            guard
                write(head, unit, megabytes * Self.megabyte, end + "}}]}", connection)
            else { return }
        }
        connection.write(chunk: Array("]}".utf8))
        connection.write(chunk: [])
    }

    private func send(
        _ begin: String, _ unit: String, _ bytes: Int, _ end: String,
        _ connection: LoopbackConnection, status: Int = 200, type: String = "application/json"
    ) {
        guard self.begin(connection, status, type), write(begin, unit, bytes, end, connection)
        else { return }
        connection.write(chunk: [])
    }

    private func begin(_ connection: LoopbackConnection, _ status: Int, _ type: String) -> Bool {
        connection.write(
            lines:
                "HTTP/1.1 \(status) Status\nContent-Type: \(type)\nTransfer-Encoding: chunked\n\n"
        )
    }

    /// Writes a text of one unit again and again, in pieces; false when the client is gone.
    private func write(
        _ begin: String, _ unit: String, _ bytes: Int, _ end: String,
        _ connection: LoopbackConnection
    ) -> Bool {
        guard connection.write(chunk: Array(begin.utf8)) else { return false }
        let unit = Array(unit.utf8)
        let piece = Array(repeatElement(unit, count: max(1, 64 << 10) / unit.count + 1).joined())
        var left = bytes
        while left > 0 {
            guard connection.write(chunk: piece) else { return false }
            left -= piece.count
        }
        return end.isEmpty || connection.write(chunk: Array(end.utf8))
    }
}
