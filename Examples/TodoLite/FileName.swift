// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Names of files that another device chose.
enum FileName {
    /// A name that leads nowhere else, is not hidden, and is free in a folder.
    static func safe(_ name: String, in folder: URL) -> String {
        // By scalars: a mark that combines with a slash or a dot would hide it from a look at characters.
        var rest =
            printable(name).unicodeScalars.split(separator: "/").last ?? "".unicodeScalars[...]
        // Hidden names begin with a dot. File systems take 255 bytes, and a number may come in front; the end has the kind.
        while rest.first == "." || Substring(rest).utf8.count > 200 { rest.removeFirst() }
        let visible = Substring(rest)
        let plain = visible.isEmpty ? "photo" : String(visible)
        var (free, number) = (plain, 1)
        while FileManager.default.fileExists(atPath: folder.appending(path: free).path) {
            number += 1
            free = "\(number)-\(plain)"
        }
        return free
    }
}

/// A text without what would steer the terminal: another device may have written it.
func printable(_ text: String) -> String {
    String(
        String.UnicodeScalarView(
            text.unicodeScalars.filter {
                ![.control, .format, .lineSeparator, .paragraphSeparator].contains(
                    $0.properties.generalCategory)
            }))
}
