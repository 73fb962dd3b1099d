// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text; of a long one its beginning and its end.
    ///
    /// What another end names may be of any length, and so may a single character of it. The end is kept since long IDs
    /// often begin alike.
    var bounded: String {
        guard utf8.count > 200 else { return self }
        return "\(beginning(80))…\(String(String.UnicodeScalarView(unicodeScalars.suffix(40))))"
    }

    /// The first code points.
    func beginning(_ count: Int) -> String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
    }
}
