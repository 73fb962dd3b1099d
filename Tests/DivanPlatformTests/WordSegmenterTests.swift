// SPDX-License-Identifier: Apache-2.0

import DivanPlatform
import Synchronization
import Testing

@Suite struct WordSegmenterTests {
    private func words(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        return ICUWordSegmenter.shared.words(in: bytes.span).map {
            String(decoding: bytes[$0], as: UTF8.self)
        }
    }

    private func folded(_ text: String, decomposing: Bool = false) -> String {
        var bytes: [UInt8] = []
        ICUWordSegmenter.shared.appendFolding(
            of: Array(text.utf8).span, decomposing: decomposing, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `words are found without spaces and punctuation`() {
        #expect(words("Can't stop, 3.14 e-mails!") == ["Can't", "stop", "3.14", "e", "mails"])
        #expect(words("") == [])
        #expect(words(" … — ") == [])
        #expect(words("東京に行く").count >= 3)
        #expect(words("a") == ["a"])
        #expect(words(String(repeating: "語", count: 500)).joined().count == 500)
    }

    @Test func `folding takes away case and forms, and can be repeated`() {
        #expect(folded("ABC") == "abc")
        #expect(folded("STRAẞE") == "strasse")
        #expect(folded("ﬁ Å ＡＢ") == "fi å ab")
        #expect(Array(folded("É", decomposing: true).unicodeScalars).count == 2)
        #expect(Array(folded("E\u{301}").unicodeScalars).count == 1)
        for text in ["Ünï", "ǅ", "\u{FDFA}", "ΑΣ", "İ"] {
            #expect(folded(folded(text)) == folded(text))
        }
    }

    @Test func `ill-formed bytes end no process`() {
        let bytes: [UInt8] = [0x61, 0xFF, 0x20, 0xC3]
        #expect(ICUWordSegmenter.shared.words(in: bytes.span).first == 0..<1)
        var folded: [UInt8] = []
        ICUWordSegmenter.shared.appendFolding(of: bytes.span, decomposing: true, to: &folded)
        #expect(folded.first == 0x61)
    }

    @Test func `many threads find words at once`() async {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<16 {
                group.addTask {
                    let text = (0..<200).map { "w\(number)x\($0)" }
                    let found = self.words(text.joined(separator: " "))
                    return found == text
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func `stems join the forms of a word`() throws {
        let english = try #require(SnowballStemmer(language: "english"))
        func stem(_ word: String) -> String {
            String(decoding: english.stem(of: Array(word.utf8)), as: UTF8.self)
        }
        #expect(stem("cats") == stem("cat"))
        #expect(stem("typing") == stem("type"))
        #expect(stem("connections") == "connect")
        #expect(stem("") == "")
        #expect(SnowballStemmer(language: "klingon") == nil)
    }
}
