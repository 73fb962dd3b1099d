// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanTestSupport
import Testing

@Suite struct ChangesFeedParserTests {
    private static let normal = Array(
        """
        {"results":[
        {"seq":"7-g1AAAA","id":"a","changes":[{"rev":"2-x"},{"rev":"2-y"}]},

        {"seq":8,"id":"b \\"}]","changes":[{"rev":"1-z"}],"deleted":true,"removed":["news"],"doc":{"_id":"b"}}
        ],
        "last_seq":"8-g1AAAA","pending":3}

        """.utf8)

    private static let continuous = Array(
        """
        {"seq":[5,"g1"],"id":"a","changes":[{"rev":"2-x"}]}


        {"seq":"6-g","id":"b","changes":[]}\r
        {"last_seq":"6-g","pending":0}

        """.utf8)

    private static let eventSource = Array(
        """
        : welcome
        id: 7-g
        data: {"seq":"7-g","id":"a",
        data: "changes":[{"rev":"2-x"}]}

        event: heartbeat
        data:


        """.utf8)

    private func read(_ pieces: [[UInt8]], _ form: ChangesFeedParser.Form) throws
        -> [ChangesFeedParser.Event]
    {
        var parser = ChangesFeedParser(form)
        var events: [ChangesFeedParser.Event] = []
        for piece in pieces {
            parser.push(piece)
            while let event = try parser.next() { events.append(event) }
        }
        try parser.finish()
        return events
    }

    @Test func `the normal form gives rows, then the end`() throws {
        let events = try read([Self.normal], .normal)
        try #require(events.count == 3)
        guard case .row(let first) = events[0], case .row(let second) = events[1] else {
            Issue.record("the rows are missing")
            return
        }
        #expect(first.documentID == "a" && first.revisions == ["2-x", "2-y"] && !first.isDeleted)
        #expect(first.sequence == "7-g1AAAA")
        #expect(second.documentID == "b \"}]" && second.isDeleted)
        #expect(second.sequence == 8 && second.removedFrom == ["news"])
        #expect(second.document?["_id"]?.string == "b")
        #expect(events[2] == .ended("8-g1AAAA", pending: 3))
    }

    @Test func `the continuous form gives rows, heartbeats and the end`() throws {
        let events = try read([Self.continuous], .continuous)
        try #require(events.count == 5)
        guard case .row(let first) = events[0] else {
            Issue.record("the row is missing")
            return
        }
        #expect(first.sequence == [5, "g1"])
        #expect(events[1] == .heartbeat && events[2] == .heartbeat)
        #expect(events[4] == .ended("6-g", pending: 0))
    }

    @Test func `server sent events give rows and heartbeats`() throws {
        let events = try read([Self.eventSource], .eventSource)
        try #require(events.count == 3)
        guard case .row(let row) = events[1] else {
            Issue.record("the row is missing")
            return
        }
        #expect(row.documentID == "a" && row.revisions == ["2-x"])
        #expect(events[0] == .heartbeat && events[2] == .heartbeat)
    }

    @Test func `a feed reads the same wherever it is cut`() throws {
        for (feed, form) in [
            (Self.normal, ChangesFeedParser.Form.normal), (Self.continuous, .continuous),
            (Self.eventSource, .eventSource),
        ] {
            let whole = try read([feed], form)
            for place in feed.indices { #expect(try read(feed.cut(at: place), form) == whole) }
            #expect(try read(feed.map { [$0] }, form) == whole)
        }
    }

    @Test func `a normal feed that breaks off is an error wherever it breaks`() throws {
        let end = try #require(Self.normal.lastIndex(of: UInt8(ascii: "}")))
        for length in 0...end {
            #expect(throws: ChangesFeedParser.Failure.truncated) {
                try read([Array(Self.normal[..<length])], .normal)
            }
        }
    }

    @Test func `a continuous feed may end between rows but not inside one`() throws {
        let line = Array("{\"seq\":1,\"id\":\"a\",\"changes\":[]}\n".utf8)
        #expect(try read([line], .continuous).count == 1)
        #expect(throws: ChangesFeedParser.Failure.truncated) {
            try read([Array(line.dropLast(4))], .continuous)
        }
    }

    @Test func `a refusal is told with its reason, first or in the middle`() throws {
        let refusal = "{\"error\":\"unauthorized\",\"reason\":\"You are not authorized.\"}\n"
        for (text, form) in [
            (refusal, ChangesFeedParser.Form.normal), (refusal, .continuous),
            ("{\"seq\":1,\"id\":\"a\",\"changes\":[]}\n" + refusal, .continuous),
            ("{\"results\":[\(refusal)", .normal),
        ] {
            #expect(
                throws: ChangesFeedParser.Failure.refused(
                    error: "unauthorized", reason: "You are not authorized.")
            ) { try read([Array(text.utf8)], form) }
        }
    }

    @Test func `what is no feed is refused at once`() throws {
        for text in [
            "<html>log in</html>", "[]", "{\"a\":1}",
            "{\"results\":[]} x", "{\"results\" []}", "{,}", "{\"results\":[{\"id\":\"a\"} {}]}",
        ] {
            #expect(throws: ChangesFeedParser.Failure.malformed, "\(text)") {
                try read([Array(text.utf8)], .normal)
            }
        }
        for text in [
            "<html>\n", "[1]\n", "{\"results\":[\n", "{\"a\":1}\n", "{\"a\":tru}\n",
            // A whole feed on one line: its rows would be lost.
            "{\"results\":[{\"id\":\"a\"}],\"last_seq\":1}\n",
        ] {
            #expect(throws: ChangesFeedParser.Failure.malformed, "\(text)") {
                try read([Array(text.utf8)], .continuous)
            }
        }
    }

    private static let oddRows: [(row: String, id: String, sequence: JSONValue?)] = [
        (#"{"seq":7,"id":"a","changes":[{"rev":"1-x"},{"rev":3}]}"#, "a", 7),
        (#"{"seq":7,"id":"a"}"#, "a", 7), (#"{"seq":7,"id":"a","changes":[]}"#, "a", 7),
        (#"{"seq":7,"id":"a","x":[tru]}"#, "a", 7), (#"{"x":"\ud800","seq":7,"id":"a"}"#, "a", 7),
        (#"{"seq":7,"id":"\ud800"}"#, "", 7), (#"{"seq":7}"#, "", 7), (#"{"seq":7,"id":1}"#, "", 7),
    ]

    @Test(arguments: oddRows) func `a row that makes no sense leaves the others`(
        row: String, id: String, sequence: JSONValue?
    ) throws {
        let good = #"{"seq":8,"id":"b","changes":[{"rev":"1-x"}]}"#
        let end = #""last_seq":8"#
        for (text, form) in [
            ("{\"results\":[\(row),\(good)],\(end)}", ChangesFeedParser.Form.normal),
            ("\(row)\n\(good)\n{\(end)}\n", .continuous),
            ("data: \(row)\n\ndata: \(good)\n\ndata: {\(end)}\n\n", .eventSource),
        ] {
            let events = try read([Array(text.utf8)], form)
            try #require(events.count == 3, "\(form)")
            guard case .row(let odd) = events[0], case .row(let next) = events[1] else {
                Issue.record("the rows are missing")
                return
            }
            #expect(odd.documentID == id && odd.sequence == sequence && odd.problem != nil)
            #expect(next.documentID == "b" && next.problem == nil)
            #expect(events[2] == .ended(8, pending: nil))
        }
    }

    @Test(arguments: ["1", "{}", "null", "[]", "\"x\""])
    func `what is no row stands for one among rows`(text: String) throws {
        let events = try read([Array("{\"results\":[\(text)]}".utf8)], .normal)
        guard case .row(let row)? = events.first else {
            Issue.record("the row is missing")
            return
        }
        #expect(row.documentID.isEmpty && row.problem != nil)
    }

    @Test func `a row of the normal form beyond the limit is passed over and named`() throws {
        let long = String(repeating: "x", count: 2_000)
        let text =
            #"{"results":[{"id":"a","seq":1,"x":"\#(long)"},{"id":"b","changes":[{"rev":"1-x"}]}]}"#
        for pieces in [[Array(text.utf8)], Array(text.utf8).map { [$0] }] {
            var parser = ChangesFeedParser(.normal, maximumRowLength: 1_000)
            var rows: [ChangesFeedRow] = []
            for piece in pieces {
                parser.push(piece)
                while let event = try parser.next() {
                    if case .row(let row) = event { rows.append(row) }
                }
            }
            try parser.finish()
            #expect(rows.map(\.documentID) == ["a", "b"])
            #expect(rows.map { $0.problem == nil } == [false, true])
        }
    }

    @Test func `a row beyond the limit is refused while it comes in`() {
        for form in [ChangesFeedParser.Form.normal, .continuous, .eventSource] {
            var parser = ChangesFeedParser(form, maximumRowLength: 1_000)
            parser.push(
                Array((form == .normal ? "{\"results\":[{\"id\":\"" : "data: {\"id\":\"").utf8)
                    + [UInt8](repeating: 0x61, count: 5_100))
            #expect(throws: ChangesFeedParser.Failure.rowTooLong) {
                while try parser.next() != nil {}
            }
        }
    }

    @Test func `damaged feeds give rows or an error`() {
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round)
            let (feed, form) = random.element(of: [
                (Self.normal, ChangesFeedParser.Form.normal), (Self.continuous, .continuous),
                (Self.eventSource, .eventSource),
            ])
            var bytes = feed
            for _ in 0...random.below(4) {
                bytes[random.below(bytes.count)] = random.element(of: Array("\"{}[],:\n\\x1".utf8))
            }
            do {
                #expect(try read(bytes.cut(&random), form).count <= bytes.count)
            } catch {
                #expect(error is ChangesFeedParser.Failure, "round \(round)")
            }
        }
    }

    @Test(
        .enabled(if: Machine.hasShared("wire"), "It needs ../shared/wire."),
        arguments: RecordedTraffic.names)
    func `recorded feeds of real servers are read whole`(name: String) throws {
        let messages = try #require(RecordedTraffic.messages(of: name))
        var random = SeededRandom(seed: 1)
        let feeds = messages.filter {
            $0.isWhole && $0.startLine.hasPrefix("HTTP/1.1 200")
                && $0.body.starts(with: "{\"results\":".utf8)
                && $0.headers["Content-Encoding"] == nil
                && String(decoding: $0.body, as: UTF8.self).contains("\"last_seq\"")
        }
        for feed in feeds {
            let events = try read([feed.body], .normal)
            guard case .ended(_?, _)? = events.last else {
                Issue.record("no end in \(feed.startLine)")
                continue
            }
            #expect(try read(feed.body.cut(&random), .normal) == events)
        }
        #expect(!feeds.isEmpty)
    }
}
