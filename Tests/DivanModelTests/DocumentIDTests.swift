// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

@Suite struct DocumentIDTests {
    @Test(arguments: [
        "a", "A b", "invoice:2026/42", "\u{e9}\u{1f600}", "_design/x", "_local/x", "-", "a_b",
        "\u{1}",
        String(repeating: "x", count: 4096),
    ])
    func `valid texts are accepted as they are`(text: String) throws {
        #expect(try DocumentID(validating: text).text == text)
        #expect(DocumentID(text).isValid)
    }

    @Test(
        arguments: [
            ("", .emptyDocumentID), ("_x", .reservedDocumentID), ("_", .reservedDocumentID),
            ("_design", .reservedDocumentID), ("_design/", .reservedDocumentID),
            ("_local/", .reservedDocumentID), ("_designs/x", .reservedDocumentID),
            ("a\0b", .documentIDContainsNUL),
            (String(repeating: "x", count: 4097), .documentIDTooLong),
            (String(repeating: "\u{e9}", count: 2049), .documentIDTooLong),
        ] as [(String, IDFailure)])
    func `invalid texts are refused with their reason`(text: String, failure: IDFailure) {
        #expect(throws: failure) { try DocumentID(validating: text) }
        #expect(!DocumentID(text).isValid)
    }

    @Test func `an ID is copied from bytes, and what is no UTF-8 is repaired`() {
        #expect(DocumentID(copying: Array("caf\u{E9}".utf8).span) == "caf\u{E9}")
        let broken: [UInt8] = [0x61, 0xFF]
        #expect(DocumentID(copying: broken.span) == "a\u{FFFD}")
    }

    @Test func `design and local documents are told apart`() throws {
        #expect(try DocumentID(validating: "_design/x").isDesign)
        #expect(!DocumentID("_design/x").isLocal)
        #expect(try DocumentID(validating: "_local/x").isLocal)
        #expect(!DocumentID("design/x").isDesign)
    }

    @Test func `two spellings of a letter are two IDs`() throws {
        let composed = try DocumentID(validating: "\u{e9}")
        let decomposed = try DocumentID(validating: "e\u{301}")
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test func `the order is that of the bytes`() throws {
        let sorted = ["B", "a", "aa", "b", "e\u{301}", "z", "\u{e9}", "\u{ffee}", "\u{1f600}"]
        let ids = try sorted.map { try DocumentID(validating: $0) }
        #expect(ids.shuffled().sorted().map(\.text.utf8.count) == ids.map(\.text.utf8.count))
        for index in 1..<ids.count { #expect(ids[index - 1] < ids[index]) }
    }
}
