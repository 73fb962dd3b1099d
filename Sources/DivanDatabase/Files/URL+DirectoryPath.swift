// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import FoundationEssentials

extension URL {
    /// The path of a file or a directory of this machine.
    ///
    /// - Throws: `DatabaseError` with code `.io` for a URL of something else, such as `https://…`, whose path is no path here.
    package var localPath: String {
        get throws {
            guard isFileURL || scheme == nil else {
                throw DatabaseError(
                    .io,
                    "A URL with the scheme '\((scheme ?? "").prefix(20))' names no file or directory of this machine; make "
                        + "one of a path.")
            }
            return path(percentEncoded: false)
        }
    }

    /// The path of a directory of this machine, without a slash at its end.
    ///
    /// - Throws: As ``localPath``.
    package var directoryPath: String {
        get throws {
            let path = try localPath
            return path.utf8.count > 1 ? path.beforeByteSuffix("/") ?? path : path
        }
    }
}
