// SPDX-License-Identifier: Apache-2.0

/// A storage engine that can be chosen: its name, and how its data are opened.
///
/// ```swift
/// import Divan
/// import DivanLMDB
///
/// manager.defaultStorageEngine = .lmdb
/// ```
///
/// A database remembers the name of the engine that keeps it. Two factories are equal when they have
/// the same name.
public struct StorageEngineFactory: Sendable, Hashable, CustomStringConvertible {
    /// The engine's name in manifests and messages, such as `sqlite`.
    public let identifier: String
    /// The file by which data of this engine are recognised where no manifest names the engine.
    public let mainFile: String
    /// Whether the engine can encrypt what it keeps. One that cannot refuses a key.
    public let canEncrypt: Bool
    private let make: @Sendable (String, StorageOptions) throws -> any StorageEngine

    /// Describes an engine.
    ///
    /// - Parameters:
    ///   - identifier: Its name: ASCII letters, digits and `-`.
    ///   - mainFile: The name of its largest file.
    ///   - canEncrypt: Whether it takes a key.
    ///   - open: Opens the engine's data in a directory, as `open(directory:options:)` says.
    public init(
        identifier: String, mainFile: String, canEncrypt: Bool,
        open:
            @escaping @Sendable (_ directory: String, _ options: StorageOptions) throws
            -> any StorageEngine
    ) {
        self.identifier = identifier
        self.mainFile = mainFile
        self.canEncrypt = canEncrypt
        make = open
    }

    /// Opens the engine's data in a directory, making them when the options say so.
    ///
    /// - Throws: `StorageError`, as the engine says.
    public func open(directory: String, options: StorageOptions) throws -> any StorageEngine {
        try make(directory, options)
    }

    /// The name.
    public var description: String { identifier }

    /// Whether two factories are of the same engine.
    public static func == (left: StorageEngineFactory, right: StorageEngineFactory) -> Bool {
        left.identifier == right.identifier
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(identifier)
    }
}
