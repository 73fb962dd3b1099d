// SPDX-License-Identifier: Apache-2.0

public import DivanStorage

/// What every storage engine has to do, as facts that can be checked on any of them.
///
/// ```swift
/// @Test(arguments: StorageConformance.facts)
/// func `the engine conforms`(_ fact: StorageConformance.Fact) throws {
///     try fact.check(on: subject)
/// }
/// ```
///
/// A fact knows the seam and nothing of the engine. One that needs a second process, power loss or a
/// damaged file belongs in the engine's own tests.
public enum StorageConformance {
    /// One thing that holds of every engine.
    public struct Fact: Sendable, CustomStringConvertible {
        /// The fact, as a sentence.
        public let description: String
        private let body: @Sendable (EngineUnderTest) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (EngineUnderTest) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Checks the fact.
        ///
        /// - Throws: `Violation` when it does not hold, and whatever the engine throws.
        public func check(on engine: EngineUnderTest) throws {
            try body(engine)
        }
    }

    /// A fact that does not hold.
    public struct Violation: Error, CustomStringConvertible {
        /// What was expected.
        public let description: String
    }

    /// All facts.
    public static var facts: [Fact] {
        valueFacts + cursorFacts + walkFacts + transactionFacts + randomFacts + concurrencyFacts
            + maintenanceFacts + faultFacts
    }
}

/// How the suite gets engines to examine.
public struct EngineUnderTest: Sendable {
    /// Opens an engine in a directory.
    public let open: @Sendable (_ directory: String) throws -> any StorageEngine
    /// Makes a new empty directory and returns its path.
    public let makeDirectory: @Sendable () throws -> String
    /// Whether an engine's contents outlive it and are shared by several in one directory.
    public let isPersistent: Bool
    /// What random facts draw their numbers from, and how often.
    public let randomness: Randomness

    /// The seed of random facts and the rounds to do; each round has numbers of its own.
    public struct Randomness: Sendable {
        let seed: UInt64
        let rounds: Range<Int>

        /// Describes the rounds. A round that fails names its seed and number.
        public init(seed: UInt64, rounds: Range<Int>) {
            self.seed = seed
            self.rounds = rounds
        }
    }

    /// Describes an engine.
    public init(
        isPersistent: Bool,
        randomness: Randomness,
        makeDirectory: @escaping @Sendable () throws -> String,
        open: @escaping @Sendable (_ directory: String) throws -> any StorageEngine
    ) {
        self.isPersistent = isPersistent
        self.randomness = randomness
        self.makeDirectory = makeDirectory
        self.open = open
    }

    /// Opens an engine in a new directory, and closes it afterwards.
    func withEngine(_ body: (any StorageEngine) throws -> Void) throws {
        let engine = try open(makeDirectory())
        defer { engine.close() }
        try body(engine)
    }
}

/// Throws a violation unless `condition` holds.
func expect(
    _ condition: @autoclosure () throws -> Bool, _ fact: @autoclosure () -> String,
    line: UInt = #line
) throws {
    if try !condition() {
        throw StorageConformance.Violation(description: "Expected that \(fact()) (line \(line)).")
    }
}

/// Throws a violation unless `body` throws a storage error with one of the codes.
func expectError(
    _ codes: StorageError.Code..., line: UInt = #line, from body: () throws -> Void
) throws {
    do {
        try body()
    } catch let error as StorageError {
        return try expect(codes.contains(error.code), "\(error) has one of \(codes)", line: line)
    }
    throw StorageConformance.Violation(description: "Expected an error (line \(line)).")
}
