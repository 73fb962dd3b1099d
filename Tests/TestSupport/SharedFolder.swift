// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Test data taken from real peers, which lies beside the repository in `../shared`.
///
/// Suites that use it restate the most telling parts, so that they mean something without it. A test
/// that needs it says so by `Machine.hasShared(_:)` in its traits, and is skipped where it is absent.
public enum SharedFolder {
    /// Returns the lines of a file, or `nil` where it is absent.
    ///
    /// Lines end at line feeds only; U+2028 is a character like any other.
    ///
    /// - Parameter path: The path inside the folder, such as `vectors/revids.jsonl`.
    public static func lines(of path: String) -> [String]? {
        bytes(of: path).map { bytes in
            bytes.split(separator: UInt8(ascii: "\n"))
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Returns the bytes of a file, or `nil` where it is absent.
    ///
    /// - Parameter path: The path inside the folder.
    public static func bytes(of path: String) -> [UInt8]? {
        (try? Data(contentsOf: url(of: path))).map { Array($0) }
    }

    static func url(of path: String) -> URL {
        TestFolder.repository.deletingLastPathComponent()
            .appending(path: "shared").appending(path: path)
    }
}

/// Folders of the repository, found from the place of this file.
public enum TestFolder {
    /// The folder `Tests`.
    public static let tests = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The root of the repository.
    public static let repository = tests.deletingLastPathComponent()
}
