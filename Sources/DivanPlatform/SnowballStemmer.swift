// SPDX-License-Identifier: Apache-2.0

internal import CStemmer
public import DivanJSON

/// Stems by Snowball's algorithm for a language.
///
/// Any thread may use it; it keeps several of Snowball's stemmers, which have state.
public final class SnowballStemmer: WordStemmer {
    private let stemmers: ThreadedPool<Stemmer>

    /// Makes a stemmer; nil when there is no algorithm for the language.
    ///
    /// - Parameter language: The language as Snowball calls it, such as `english`.
    public init?(language: String) {
        guard let stemmers = ThreadedPool({ Stemmer(language: language) }) else { return nil }
        self.stemmers = stemmers
    }

    /// Returns the stem of a word in lower case.
    public func stem(of word: [UInt8]) -> [UInt8] { stemmers.withOne { $0.stem(of: word) } }
}

/// The one owner of Snowball's stemmer.
@safe
private struct Stemmer: ~Copyable {
    private let handle: OpaquePointer

    init?(language: String) {
        guard let opened = unsafe divan_stemmer_open(language) else { return nil }
        unsafe handle = opened
    }

    deinit {
        unsafe divan_stemmer_close(handle)
    }

    func stem(of word: [UInt8]) -> [UInt8] {
        // SAFETY: the word outlives the call; the stem, which belongs to the stemmer, is copied at
        // once, before another word is given to it.
        unsafe word.withUnsafeBufferPointer { bytes in
            var count = 0
            guard
                let stem = unsafe divan_stemmer_stem(
                    handle, bytes.baseAddress, bytes.count, &count)
            else { preconditionFailure("Snowball ran out of memory while stemming a word.") }
            return unsafe [UInt8](UnsafeBufferPointer(start: stem, count: count))
        }
    }
}
