// SPDX-License-Identifier: Apache-2.0

internal import CICU
public import DivanJSON

/// Words by Unicode's rules (UAX 29) and ICU's dictionaries for Chinese, Japanese, Thai and others.
///
/// Any thread may use it. ICU's iterators have state, so there are several.
public final class ICUWordSegmenter: WordSegmenter {
    /// The segmenter that the whole process shares.
    public static let shared = ICUWordSegmenter()

    /// The library and its tables, as ``ICUCollator/version``.
    public var version: String { ICUCollator.root.version }

    private let finders: ThreadedPool<Finder>

    private init() {
        guard let finders = ThreadedPool({ Finder() }) else {
            preconditionFailure("ICU cannot find words: its data library is missing.")
        }
        self.finders = finders
    }

    /// Returns where the words of a text lie.
    public func words(in text: Span<UInt8>) -> [Range<Int>] {
        finders.withOne { $0.words(in: text) }
    }

    /// Appends a text folded by NFKC_Casefold.
    public func appendFolding(of text: Span<UInt8>, decomposing: Bool, to folded: inout [UInt8]) {
        if appendASCII(text, to: &folded) { return }
        var room = 4 * text.count + 16
        var length = append(text, decomposing, to: &folded, room: room)
        while length > room {
            room = length
            length = append(text, decomposing, to: &folded, room: room)
        }
    }

    /// Nearly all words are ASCII, whose folding is its lower case. False when a text is not.
    private func appendASCII(_ text: Span<UInt8>, to folded: inout [UInt8]) -> Bool {
        let start = folded.count
        for index in text.indices {
            let byte = text[index]
            guard byte < 0x80 else {
                folded.removeLast(folded.count - start)
                return false
            }
            folded.append(byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte)
        }
        return true
    }

    /// Appends the folding if there is room, else nothing, and answers its length.
    private func append(
        _ text: Span<UInt8>, _ decomposing: Bool, to folded: inout [UInt8], room: Int
    ) -> Int {
        // SAFETY: `room` bounds what is written; both memories outlive the call.
        unsafe text.withUnsafeBufferPointer { text in
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { out in
                let length = unsafe divan_fold(
                    text.baseAddress, text.count, decomposing ? 1 : 0, out.baseAddress, room)
                precondition(length >= 0, "ICU cannot fold: its data library is missing.")
                if length <= room {
                    unsafe folded.append(contentsOf: UnsafeBufferPointer(rebasing: out[..<length]))
                }
                return length
            }
        }
    }
}

/// The one owner of an iterator of ICU.
@safe
private struct Finder: ~Copyable {
    private let handle: OpaquePointer

    init?() {
        guard let opened = unsafe divan_words_open() else { return nil }
        unsafe handle = opened
    }

    deinit {
        unsafe divan_words_close(handle)
    }

    func words(in text: Span<UInt8>) -> [Range<Int>] {
        var words: [Range<Int>] = []
        // A word and a space take at least two bytes, but where words touch each other.
        var room = text.count / 2 + 8
        while true {
            // SAFETY: the memory holds two offsets for each of `room` words; text and memory outlive
            // the call, which keeps nothing of them.
            let count = unsafe text.withUnsafeBufferPointer { text in
                unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 * room) {
                    ranges in
                    let count = unsafe divan_words_find(
                        handle, text.baseAddress, text.count, ranges.baseAddress, room)
                    guard count > 0, count <= room else { return count }
                    words.reserveCapacity(count)
                    for index in 0..<count {
                        unsafe words.append(
                            Int(ranges[2 * index])..<Int(ranges[2 * index + 1]))
                    }
                    return count
                }
            }
            precondition(count >= 0, "ICU ran out of memory while looking for words.")
            guard count > room else { return words }
            room = count
        }
    }
}
