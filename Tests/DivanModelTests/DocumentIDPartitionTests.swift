// SPDX-License-Identifier: Apache-2.0

import DivanModel
import Testing

@Suite struct DocumentIDPartitionTests {
    @Test func `a partition is what stands before the first colon`() {
        #expect(DocumentID("sensor-1:42").partition == "sensor-1")
        #expect(DocumentID("a:b:c").partition == "a")
        #expect(DocumentID(":b").partition == "")
        #expect(DocumentID("plain").partition == nil)
        #expect(DocumentID(partition: "a", "b:c") == "a:b:c")
    }

    @Test func `design and local documents belong to no partition`() {
        for id: DocumentID in ["_design/a:b", "_local/a:b"] {
            #expect(id.partition == nil)
            #expect(throws: Never.self) { try id.validateInPartition() }
        }
    }

    @Test(
        arguments: [
            ("a:b", nil), ("a:b:c", nil), ("\u{E9}:x", nil), ("a: ", nil), ("a:_design/b", nil),
            ("plain", IDFailure.noPartition), (":b", .emptyPartition),
            ("_a:b", .reservedDocumentID), ("a:", .emptyDocumentID), ("a:_b", .reservedDocumentID),
            ("", .emptyDocumentID), ("a\u{0}:b", .documentIDContainsNUL),
        ] as [(String, IDFailure?)])
    func `the rule for IDs says what is wrong`(text: String, failure: IDFailure?) {
        var found: IDFailure?
        do throws(IDFailure) { try DocumentID(text).validateInPartition() } catch { found = error }
        #expect(found == failure)
    }

    @Test(
        arguments: [
            ("a", nil), ("a;b", nil), ("-", nil), ("", IDFailure.emptyPartition),
            ("_a", .reservedPartition), ("a:b", .partitionContainsColon),
            ("a\u{0}", .documentIDContainsNUL),
            (String(repeating: "a", count: 4_096), .documentIDTooLong),
        ] as [(String, IDFailure?)])
    func `the rule for names says what is wrong`(name: String, failure: IDFailure?) {
        var found: IDFailure?
        do throws(IDFailure) { try DocumentID.validate(partition: name) } catch { found = error }
        #expect(found == failure)
    }
}
