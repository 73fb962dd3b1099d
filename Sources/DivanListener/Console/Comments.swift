// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What JavaScript and CSS say to those who read the source, and not to browsers.
enum Comments {
    /// Leaves out the comments of a script or sheet that begin a line; `scripts/check-console` sees to it that what looks
    /// like one is one.
    ///
    ///     /** Adds.           →
    ///      *  Twice. */       →
    ///     function add() {    →  function add() {
    ///       // Why so.        →
    ///       /** @type {A} */ (b).c();  →  (b).c();
    ///
    /// Every line keeps its number, so that an error in a browser's console leads to its place in the source.
    static func removed(from text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var isInside = false
        for line in text.split(separator: JSONByte.lineFeed, omittingEmptySubsequences: false) {
            result += kept(line, &isInside)
            result.append(JSONByte.lineFeed)
        }
        // The last line feed ends a line, and begins none.
        result.removeLast()
        return result
    }

    private static let slash = UInt8(ascii: "/")
    private static let asterisk = UInt8(ascii: "*")

    /// What a line has behind the comments that it begins with.
    private static func kept(
        _ line: ArraySlice<UInt8>, _ isInside: inout Bool
    ) -> ArraySlice<UInt8> {
        var rest = line
        while true {
            if isInside {
                let end = rest.indices.dropLast().first {
                    rest[$0] == asterisk && rest[$0 + 1] == slash
                }
                guard let end else { return [] }
                isInside = false
                rest = rest[(end + 2)...]
            }
            let code = rest.drop { $0 == UInt8(ascii: " ") }
            if code.starts(with: [slash, slash]) { return [] }
            guard code.starts(with: [slash, asterisk]) else {
                return code.isEmpty ? [] : rest
            }
            isInside = true
            rest = code.dropFirst(2)
        }
    }
}
