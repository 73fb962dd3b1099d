// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

/// Takes the last element, which must be there.
private func last<Element>(_ elements: inout [Element]) throws -> Element {
    let last = elements.popLast()
    return try #require(last)
}

/// A multipart body read whole, as a tree, so that results do not depend on how it was cut.
indirect enum Part: Equatable {
    case leaf(HTTPHeaders, [UInt8])
    case nested(HTTPHeaders, [Part])

    static func read(
        _ pieces: [[UInt8]], boundary: String, limits: MultipartReader.Limits = .init()
    ) throws -> [Part] {
        var reader = MultipartReader(boundary: boundary, limits: limits)
        var levels: [[Part]] = [[]]
        var openHeaders: [HTTPHeaders] = []
        var body: [UInt8] = []
        var isEnded = false
        for piece in pieces {
            reader.push(piece)
            while let event = try reader.next() {
                try #require(!isEnded)
                switch event {
                case .partBegan(let headers):
                    openHeaders.append(headers)
                    body = []
                case .bytes(let bytes):
                    try #require(!bytes.isEmpty)
                    body += bytes
                case .partEnded:
                    levels[levels.count - 1].append(
                        .leaf(try last(&openHeaders), body))
                case .nestedBegan(let headers):
                    openHeaders.append(headers)
                    levels.append([])
                case .nestedEnded:
                    let parts = try last(&levels)
                    levels[levels.count - 1].append(
                        .nested(try last(&openHeaders), parts))
                case .ended:
                    isEnded = true
                }
            }
        }
        try reader.finish()
        try #require(isEnded && levels.count == 1 && openHeaders.isEmpty)
        return levels[0]
    }
}

@Suite struct MultipartReaderTests {
    private static let related: [UInt8] = .wire(
        """
        a preamble that nobody reads
        --part one
        Content-Type: application/json

        {"_id":"a"}
        --part one
        Content-Disposition: attachment; filename="x"
        Content-Type: text/plain

        two lines
        --part one and a half

        --part one--
        an epilogue
        """)

    private static let openRevisions: [UInt8] = .wire(
        """
        --outer
        Content-Type: multipart/related; boundary="inner"

        --inner
        Content-Type: application/json

        {"_id":"a"}
        --inner
        Content-Disposition: attachment; filename="x"

        bytes
        --inner--
        --outer
        Content-Type: application/json; error="true"

        {"missing":"3-x"}
        --outer--
        """)

    @Test
    func
        `a related body gives its parts, and a line that only begins like the boundary is content`()
        throws
    {
        let parts = try Part.read([Self.related], boundary: "part one")
        #expect(
            parts == [
                .leaf(["Content-Type": "application/json"], .wire("{\"_id\":\"a\"}")),
                .leaf(
                    [
                        "Content-Disposition": "attachment; filename=\"x\"",
                        "Content-Type": "text/plain",
                    ], .wire("two lines\n--part one and a half\n")),
            ])
    }

    @Test func `a nested body gives the parts of its parts`() throws {
        let parts = try Part.read([Self.openRevisions], boundary: "outer")
        #expect(
            parts == [
                .nested(
                    ["Content-Type": "multipart/related; boundary=\"inner\""],
                    [
                        .leaf(["Content-Type": "application/json"], .wire("{\"_id\":\"a\"}")),
                        .leaf(
                            ["Content-Disposition": "attachment; filename=\"x\""], .wire("bytes")),
                    ]),
                .leaf(
                    ["Content-Type": "application/json; error=\"true\""],
                    .wire("{\"missing\":\"3-x\"}")),
            ])
    }

    @Test func `a body reads the same wherever it is cut in two`() throws {
        for (body, boundary) in [(Self.related, "part one"), (Self.openRevisions, "outer")] {
            let whole = try Part.read([body], boundary: boundary)
            for place in body.indices {
                #expect(try Part.read(body.cut(at: place), boundary: boundary) == whole)
            }
            #expect(try Part.read(body.map { [$0] }, boundary: boundary) == whole)
        }
    }

    @Test func `a body without parts, a part without headers and one without bytes are read`()
        throws
    {
        #expect(try Part.read([.wire("--b--")], boundary: "b") == [])
        #expect(try Part.read([.wire("--b\n\nx\n--b--")], boundary: "b") == [.leaf([:], [0x78])])
        #expect(try Part.read([.wire("--b\n\n\n--b--")], boundary: "b") == [.leaf([:], [])])
        #expect(
            try Part.read([.wire("--b\nA: 1\n\n--b--")], boundary: "b") == [.leaf(["A": "1"], [])])
        #expect(
            try Part.read([.wire("--b  \nA: 1\n  2\n\n\n--b--")], boundary: "b") == [
                .leaf(["A": "1 2"], [])
            ])
    }

    @Test func `a body that ends too early is an error wherever it ends`() throws {
        let end = Self.openRevisions.count
        for length in 0..<end {
            #expect(throws: MultipartReader.Failure.truncated) {
                try Part.read([Array(Self.openRevisions[..<length])], boundary: "outer")
            }
        }
    }

    @Test func `headers beyond the limit are errors`() throws {
        var limits = MultipartReader.Limits()
        limits.headerBytes = 100
        let long = "--b\nA: " + String(repeating: "x", count: 200)
        for body in [long, long + "\n\n\n--b--"] {
            #expect(throws: MultipartReader.Failure.headersTooLong) {
                try Part.read([.wire(body)], boundary: "b", limits: limits)
            }
        }
        limits.parts = 1
        #expect(throws: MultipartReader.Failure.tooManyParts) {
            try Part.read([.wire("--b\n\n1\n--b\n\n2\n--b--")], boundary: "b", limits: limits)
        }
    }

    @Test(arguments: ["no colon", ": no name", "two words: x", " continues nothing", "b\""])
    func `a line among the headers that is none is passed over`(_ line: String) throws {
        let parts = try Part.read([.wire("--b\n\(line)\nA: 1\n\nx\n--b--")], boundary: "b")
        #expect(parts == [.leaf(["A": "1"], Array("x".utf8))])
    }

    @Test func `the boundary is found in quotes and without, and only in multipart types`() {
        for (type, boundary) in [
            ("multipart/related; boundary=abc", "abc"),
            ("Multipart/Mixed;charset=x; Boundary=\"a b;\\\"c\"", "a b;\"c"),
        ] {
            #expect(MultipartReader.boundary(in: type) == boundary)
        }
        for type in [
            nil, "application/json; boundary=x", "multipart/related", "multipart/mixed; boundary=",
        ] {
            #expect(MultipartReader.boundary(in: type) == nil)
        }
    }

    @Test func `what the writer wrote is read back, at the length it told`() throws {
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round)
            let (parts, bytes, boundary) = Self.randomBody(&random, depth: 2)
            let read = try Part.read(bytes.cut(&random), boundary: boundary)
            #expect(read == parts, "round \(round)")
        }
    }

    @Test func `damaged bodies give parts or an error, and never more bytes than came`() {
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round, salt: 1)
            var (_, bytes, boundary) = Self.randomBody(&random, depth: 2)
            for _ in 0...random.below(4) where !bytes.isEmpty {
                bytes[random.below(bytes.count)] = random.element(of: [
                    0x0D, 0x0A, 0x2D, 0x3A, 0x78,
                ])
            }
            var reader = MultipartReader(boundary: boundary)
            var given = 0
            do {
                for piece in bytes.cut(&random) {
                    reader.push(piece)
                    while let event = try reader.next() {
                        if case .bytes(let bytes) = event { given += bytes.count }
                    }
                    reader.checkInvariants()
                }
                try reader.finish()
            } catch {
                #expect(error != .noBoundary)
                // After a failure nothing is kept; after an end that came too early it goes on.
                reader.push([UInt8](repeating: 0x78, count: 1_000))
                while (try? reader.next()) != nil {}
                reader.checkInvariants()
            }
            #expect(given <= bytes.count)
        }
    }

    @Test(
        .enabled(if: Machine.hasShared("wire"), "It needs ../shared/wire."),
        arguments: RecordedTraffic.names)
    func `recorded bodies of real peers are read whole`(name: String) throws {
        let messages = try #require(RecordedTraffic.messages(of: name))
        var random = SeededRandom(seed: 1)
        var count = 0
        for message in messages {
            guard let boundary = MultipartReader.boundary(in: message.headers["Content-Type"])
            else {
                continue
            }
            count += 1
            var reader = MultipartReader(boundary: boundary)
            reader.push(message.body)
            var events: [MultipartReader.Event] = []
            while let event = try reader.next() { events.append(event) }
            let document = events.drop { event in
                if case .nestedBegan = event { true } else { false }
            }
            guard case .partBegan(let headers)? = document.first,
                case .bytes(let bytes)? = document.dropFirst().first
            else {
                Issue.record("no part in \(message.startLine)")
                continue
            }
            #expect(headers["Content-Type"]?.hasPrefix("application/json") == true)
            #expect(headers["Content-Encoding"] == "gzip" || bytes.first == UInt8(ascii: "{"))
            guard message.isWhole else { continue }
            let parts = try Part.read([message.body], boundary: boundary)
            #expect(try Part.read(message.body.cut(&random), boundary: boundary) == parts)
        }
        // PouchDB sends and asks for attachments inline only.
        #expect(count > 0 || name == "pouchdb-to-couchdb")
    }

    /// A body by the writer, and what reading it must give.
    private static func randomBody(_ random: inout SeededRandom, depth: Int) -> (
        [Part], bytes: [UInt8], boundary: String
    ) {
        // No content holds an x, and no nested body has the boundary of the one around it.
        var writer = MultipartWriter(subtype: "mixed", boundary: "b1x\(depth)")
        var parts: [Part] = []
        var bytes: [UInt8] = []
        var lengths: [(headers: HTTPHeaders, length: Int)] = []
        for _ in 0..<random.below(4) {
            let body: [UInt8]
            let headers: HTTPHeaders
            if depth > 1, random.oneIn(3) {
                let inner = randomBody(&random, depth: depth - 1)
                headers = ["Content-Type": "multipart/related; boundary=\(inner.boundary)"]
                body = inner.bytes
                parts.append(.nested(headers, inner.0))
            } else {
                // Content made of what delimiters are made of.
                body = (0..<random.below(60)).map { _ in
                    random.element(of: [0x0D, 0x0A, 0x2D, 0x62, 0x31, 0x00, 0xFF])
                }
                headers = ["X-Number": "\(random.below(100))"]
                parts.append(.leaf(headers, body))
            }
            lengths.append((headers, body.count))
            bytes += writer.beginPart(headers) + body
        }
        bytes += writer.end()
        #expect(writer.length(of: lengths) == bytes.count)
        return (parts, bytes, writer.boundary)
    }
}
