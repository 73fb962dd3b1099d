// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// How a full-text index takes texts apart.
public struct FullTextOptions: Sendable, Hashable {
    /// A language whose words have stems.
    public struct Language: Sendable, Hashable {
        /// Snowball's name for it.
        @ByBytes public private(set) var name: String

        private init(_ name: String) { self.name = name }

        /// The language that Snowball knows by a name; nil when it knows none.
        public init?(named name: String) {
            guard TextStemmers.stemmer(name) != nil else { return nil }
            self.name = name
        }

        /// English; its commonest words, such as `the`, are left out.
        public static let english = Language("english")
        /// French.
        public static let french = Language("french")
        /// German.
        public static let german = Language("german")
        /// Italian.
        public static let italian = Language("italian")
        /// Spanish.
        public static let spanish = Language("spanish")
    }

    /// The language by whose rules words are cut down to their stems, so that `cats` finds `cat`; nil
    /// to leave words whole. In English the commonest words are then left out.
    public var language: Language?
    /// Whether `cafe` finds `café`. Case is never looked at.
    public var ignoresAccents = true
    /// The documents that are indexed: those whose `type` is this; nil for all.
    public var documentType: String?

    /// Makes options: no language, accents ignored, all documents.
    public init() {}

    /// Makes options.
    public init(language: Language?, ignoresAccents: Bool = true, documentType: String? = nil) {
        self.language = language
        self.ignoresAccents = ignoresAccents
        self.documentType = documentType
    }
}
