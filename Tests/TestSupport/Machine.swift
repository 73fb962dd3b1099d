// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// What the machine that runs the tests has.
///
/// A test that needs more than every machine has says so in its traits, so that its absence is a skip with
/// a reason and never a test that passes without having looked:
///
/// ```swift
/// @Test(.enabled(if: Machine.hasShared("vectors/revids.jsonl"), "It needs ../shared/vectors."))
/// ```
public enum Machine {
    /// Whether a file or folder lies in `../shared`, beside the repository.
    ///
    /// - Parameter path: The path inside that folder.
    public static func hasShared(_ path: String) -> Bool {
        FileManager.default.fileExists(
            atPath: SharedFolder.url(of: path).path(percentEncoded: false))
    }

    /// Where a program is; nil where there is none.
    ///
    /// - Parameter name: The name of its file, looked for where the shell does and in `/usr/sbin`.
    public static func program(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/sbin"]
        return folders.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether the tests run as the superuser, whom no permission of a file stops.
    public static var isSuperuser: Bool { geteuid() == 0 }

    /// Whether the tests run to let a change in, so that what the machine lacks is a failure; unless
    /// `DIVAN_TEST_WITHOUT_NETWORKS` says that it is known to permit no networks of the tests' own.
    public static var isContinuousIntegration: Bool {
        let environment = ProcessInfo.processInfo.environment
        return environment["CI"] == "true" && environment["DIVAN_TEST_WITHOUT_NETWORKS"] == nil
    }

    /// Whether a file or folder is there, such as one of `/proc` or `/dev`.
    public static func has(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: path)
    }
}
