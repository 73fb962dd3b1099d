// SPDX-License-Identifier: Apache-2.0

extension QRCode {
    /// Draws the code as an SVG picture, with its quiet zone: black on white, a unit for each module.
    ///
    /// ```swift
    /// try Data(code.svg().utf8).write(to: url)
    /// ```
    ///
    /// The picture has no size of its own, so it takes that of its place. Its background is white, also on a dark page. All modules
    /// are one path, so that no seams show between them.
    ///
    /// - Returns: The text of an SVG document, which may also stand in an HTML page as it is.
    public func svg() -> String {
        let whole = side + 2 * Self.quietZone
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(whole) \(whole)" shape-rendering="crispEdges">\
            <path fill="#fff" d="M0 0h\(whole)v\(whole)H0z"/><path d="\(path)"/></svg>

            """
    }

    /// A rectangle for each run of dark modules in a row.
    private var path: String {
        var path = ""
        for y in 0..<side {
            var x = 0
            while x < side {
                let start = x
                while isDark(x: x, y: y) { x += 1 }
                if x > start {
                    path +=
                        "M\(start + Self.quietZone) \(y + Self.quietZone)h\(x - start)v1h-\(x - start)z"
                }
                x += 1
            }
        }
        return path
    }
}
