// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import Testing

@Suite struct JSONObjectStreamTests {
    /// All events of a text that comes in pieces of so many bytes.
    private func events(_ text: String, _ stream: JSONObjectStream, pieces: Int) throws
        -> [JSONObjectStream.Event]
    {
        var (stream, events) = (stream, [JSONObjectStream.Event]())
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            stream.push(Array(bytes[start..<min(start + pieces, bytes.count)]))
            while let event = try stream.next() { events.append(event) }
        }
        #expect(stream.isAtEnd)
        return events
    }

    private func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(arguments: [1, 7, 1_000])
    func `an element that is too long is passed over where that is asked for`(pieces: Int) throws {
        let body = #"{"docs":[1,{"_id":"long","x":"]}\""},{"n":2}],"x":"a member"}"#
        let stream = JSONObjectStream(array: "docs", limit: 12, skipsLong: true)
        let events = try events(body, stream, pieces: pieces)
        #expect(events.first == .element(text("1")))
        guard case .longElement(let beginning) = events[1] else {
            Issue.record("\(events)")
            return
        }
        #expect(text(#"{"_id":"long","x":"]}\""}"#).starts(with: beginning))
        #expect(events[2] == .element(text(#"{"n":2}"#)))
        #expect(events[3...] == [.member("x", text(#""a member""#)), .ended])
    }

    @Test func `a member that is too long ends the reading`() {
        let stream = JSONObjectStream(array: "docs", limit: 12, skipsLong: true)
        #expect(throws: JSONObjectStream.Failure.tooLong) {
            try events(#"{"x":"longer than twelve"}"#, stream, pieces: 3)
        }
    }

    @Test func `a name with half a surrogate pair is told by its text`() throws {
        var stream = JSONObjectStream(array: nil, limit: 100)
        stream.push(text(#"{"a":1,"x\ud800":[2],"":3}"#))
        #expect(try stream.next() == .member("a", text("1")))
        #expect(stream.nameText == text(#""a""#))
        #expect(try stream.next() == .member("\u{FFFD}", text("[2]")))
        #expect(stream.nameText == text(#""x\ud800""#))
        #expect(try stream.next() == .member("", text("3")))
        #expect(try stream.next() == .ended)
    }

    @Test func `nesting takes no memory but a count`() throws {
        let deep = String(repeating: "[", count: 300_000) + String(repeating: "]", count: 300_000)
        let stream = JSONObjectStream(array: "docs", limit: .max)
        let events = try events(#"{"docs":[\#(deep),1]}"#, stream, pieces: 4_096)
        #expect(events == [.element(text(deep)), .element(text("1")), .ended])
    }
}
