// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import FoundationEssentials

extension URL {
    /// The path of a directory, without a slash at its end.
    package var directoryPath: String {
        let path = path(percentEncoded: false)
        return path.utf8.count > 1 ? path.beforeByteSuffix("/") ?? path : path
    }
}
