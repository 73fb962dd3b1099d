// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Manifests that ask for more work to derive a key than a database of Divan's ever does.
@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct DerivationBoundsTests {
    private let sandbox = Sandbox()

    /// Opens a database with its password after a part of the manifest became another one.
    private func open(_ name: String, replacing part: String, with other: String) throws {
        let url = sandbox.url(name).appending(path: "manifest")
        let line = try String(decoding: Data(contentsOf: url), as: UTF8.self)
            .split(separator: "\n")[0]
        let edited = line.replacing(part, with: other)
        #expect(edited != line)
        try Data("\(edited)\n\(ManifestChecksum.text(of: String(edited)))\n".utf8).write(to: url)
        try sandbox.encrypted(name, key: .password("p")).close()
    }

    /// The error of an opening; nil when there is none.
    private func error(
        _ name: String, replacing part: String, with other: String
    ) throws -> DatabaseError? {
        let url = sandbox.url(name).appending(path: "manifest")
        let before = try Data(contentsOf: url)
        defer { try? before.write(to: url) }
        do {
            try open(name, replacing: part, with: other)
            return nil
        } catch let error as DatabaseError { return error }
    }

    private static let scryptNumbers = "\"cost\":65536,\"blockSize\":8,\"parallelism\":2"

    /// N, r and p that would take more than 256 MB, or more than four times the work of the default.
    private static let costlyNumbers: [(Int, Int, Int)] = [
        (524_288, 8, 1), (2_097_152, 2, 1), (4_194_304, 1, 1), (131_072, 32, 1), (65_536, 8, 9),
        (65_536, 64, 2), (2, 2_097_152, 1), (2, 1, 4_194_304), (4_611_686_018_427_387_904, 8, 2),
        (4_294_967_296, 4_294_967_296, 1), (1_048_576, 2, .max), (65_536, .max, .max),
    ]

    @Test(arguments: costlyNumbers)
    func `scrypt beyond the bounds is refused at once`(_ cost: Int, _ blockSize: Int, _ rounds: Int)
        throws
    {
        try sandbox.encrypted(key: .password("p")).close()
        let numbers = "\"cost\":\(cost),\"blockSize\":\(blockSize),\"parallelism\":\(rounds)"
        let error = try error("db", replacing: Self.scryptNumbers, with: numbers)
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains("asks for more work to derive a key") == true)
    }

    @Test(arguments: [10_000_001, 100_000_000, 1 << 32, Int.max])
    func `PBKDF2 beyond the bounds is refused at once`(_ rounds: Int) throws {
        try sandbox.encrypted(key: .password("p", derivation: .pbkdf2())).close()
        let error = try error(
            "db", replacing: "\"rounds\":600000", with: "\"rounds\":\(rounds)")
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains("asks for more work to derive a key") == true)
    }

    /// What is no derivation at all: zeros, numbers below, fractions, texts, another salt.
    @Test(arguments: [
        ("\"cost\":65536", "\"cost\":0"), ("\"cost\":65536", "\"cost\":-65536"),
        ("\"cost\":65536", "\"cost\":65535"), ("\"cost\":65536", "\"cost\":1"),
        ("\"cost\":65536", "\"cost\":1e9"), ("\"cost\":65536", "\"cost\":\"65536\""),
        ("\"blockSize\":8", "\"blockSize\":0"), ("\"parallelism\":2", "\"parallelism\":-1"),
        ("\"cost\":65536", "\"cost\":99999999999999999999"), ("\"salt\":\"", "\"salt\":\"AAAA"),
        ("\"derivation\":\"scrypt\"", "\"derivation\":\"argon2id\""),
    ])
    func `what is no derivation is a damaged manifest`(_ part: String, _ other: String) throws {
        try sandbox.encrypted(key: .password("p")).close()
        #expect(try error("db", replacing: part, with: other)?.code == .corrupted)
    }

    @Test func `more rounds than a database is opened with are not asked for`() throws {
        #expect(
            PasswordDerivation.pbkdf2(rounds: .max) == PasswordDerivation.pbkdf2(rounds: 10_000_000)
        )
        #expect(PasswordDerivation.pbkdf2(rounds: 1) == PasswordDerivation.pbkdf2())
        #expect(DerivationBounds.allow(.pbkdf2(rounds: 10_000_000, salt: [])))
    }
}
