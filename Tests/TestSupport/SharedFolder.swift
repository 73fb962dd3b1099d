// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Test data taken from real peers, which lies beside the repository in `../shared`.
///
/// Tests that need it restate the most telling parts, so that they mean something without it. A
/// test that finds it absent prints one line and passes.
public enum SharedFolder {
    /// Returns the lines of a file, or `nil` after printing that it is absent.
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

    /// Returns the bytes of a file, or `nil` after printing that it is absent.
    ///
    /// - Parameter path: The path inside the folder.
    public static func bytes(of path: String) -> [UInt8]? {
        let url = TestFolder.repository.deletingLastPathComponent()
            .appending(path: "shared").appending(path: path)
        guard let data = try? Data(contentsOf: url) else {
            print("Skipped: ../shared/\(path) is not there.")
            return nil
        }
        return Array(data)
    }
}

/// Folders of the repository, found from the place of this file.
enum TestFolder {
    /// The folder `Tests`.
    static let tests = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The root of the repository.
    static let repository = tests.deletingLastPathComponent()
}
