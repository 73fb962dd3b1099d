// SPDX-License-Identifier: Apache-2.0

/// Something that reads bytes which strangers write: it must give a value or an error, and what it gives must be consistent.
///
/// A target stops the program where that is not so. `scripts/fuzz` feeds it with what libFuzzer thinks up, and `FuzzSeedTests` with its seeds, which
/// are small texts that reach each kind of thing it reads.
public struct FuzzTarget: Sendable {
    /// The name, for the command line.
    public let name: String
    /// Inputs to begin with.
    public let seeds: [[UInt8]]
    /// Reads an input.
    public let run: @Sendable ([UInt8]) -> Void

    init(_ name: String, seeds: [String], _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.init(name, seeds: seeds.map { Array($0.utf8) }, run)
    }

    init(_ name: String, seeds: [[UInt8]], _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.seeds = seeds
        self.run = run
    }

    /// All targets.
    public static let all =
        json + http + documents + [.request, .target, .discovery, .link, .scripts]

    /// Cuts an input in two: the first byte says where. A reader of a stream must not mind.
    static func cut(_ bytes: [UInt8]) -> (whole: ArraySlice<UInt8>, parts: [ArraySlice<UInt8>]) {
        guard let first = bytes.first else { return ([], []) }
        let rest = bytes.dropFirst()
        let place = rest.startIndex + (rest.isEmpty ? 0 : Int(first) % rest.count)
        return (rest, [rest[..<place], rest[place...]])
    }
}

/// Stops the program when something that must hold does not.
func require(_ holds: Bool, _ what: String) {
    guard holds else { fatalError(what) }
}
