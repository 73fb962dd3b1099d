// SPDX-License-Identifier: Apache-2.0

import Testing

/// A picture in shades of grey, 0 for black to 255 for white.
struct Picture: Equatable {
    /// The pixels of a module along each side.
    static let scale = 6

    let width: Int
    let height: Int
    private var pixels: [UInt8]

    init(width: Int, height: Int, shade: UInt8 = 255) {
        self.width = width
        self.height = height
        pixels = [UInt8](repeating: shade, count: width * height)
    }

    subscript(x: Int, y: Int) -> UInt8 {
        get { pixels[y * width + x] }
        set { pixels[y * width + x] = newValue }
    }

    mutating func fill(_ columns: Range<Int>, _ rows: Range<Int>, _ shade: UInt8) {
        for y in rows { for x in columns { self[x, y] = shade } }
    }

    /// The mean shade of a rectangle.
    func mean(_ columns: Range<Int>, _ rows: Range<Int>) -> Int {
        var sum = 0
        for y in rows { for x in columns { sum += Int(self[x, y]) } }
        return sum / (columns.count * rows.count)
    }

    /// The picture as a file in the PGM format.
    var pgm: [UInt8] { Array("P5 \(width) \(height) 255\n".utf8) + pixels }
}

/// A terminal as it shows drawings: the shades of its characters and its background.
struct TestTerminal {
    var foreground: UInt8
    var background: UInt8

    /// Light grey on nearly black.
    static let dark = TestTerminal(foreground: 204, background: 24)
    /// Nearly black on white.
    static let light = TestTerminal(foreground: 32, background: 250)

    /// The characters around a drawing, in which the terminal shows its background.
    static let margin = 3

    /// Shows a drawing, amid the terminal's background. A character is as wide as a module and as high as two.
    func show(_ drawing: String) throws -> Picture {
        let lines = drawing.split(separator: "\n").map { Array($0.unicodeScalars) }
        let cells = try lines.map(cells)
        let columns = try #require(cells.map(\.count).max())
        let scale = Picture.scale
        var picture = Picture(
            width: (columns + 2 * Self.margin) * scale,
            height: (lines.count + 2 * Self.margin) * 2 * scale, shade: background)
        for (row, line) in cells.enumerated() {
            for (column, cell) in line.enumerated() {
                let x = (column + Self.margin) * scale
                let y = (row + Self.margin) * 2 * scale
                picture.fill(x..<x + scale, y..<y + scale, cell.upper)
                picture.fill(x..<x + scale, y + scale..<y + 2 * scale, cell.lower)
            }
        }
        return picture
    }

    /// The shades of the halves of each character in a line.
    private func cells(_ line: [Unicode.Scalar]) throws -> [(upper: UInt8, lower: UInt8)] {
        var cells: [(upper: UInt8, lower: UInt8)] = []
        var (ink, paper) = (foreground, background)
        var index = 0
        while index < line.count {
            switch line[index] {
            case " ": cells.append((paper, paper))
            case "\u{2580}": cells.append((ink, paper))
            case "\u{2584}": cells.append((paper, ink))
            case "\u{2588}": cells.append((ink, ink))
            case "\u{1B}":
                let end = try #require(line[index...].firstIndex(of: "m"))
                let sequence = String(String.UnicodeScalarView(line[index...end].dropFirst()))
                switch sequence {
                // Black and white of the palette of 256 colours.
                case "[38;5;16;48;5;231m": (ink, paper) = (0, 255)
                case "[0m": (ink, paper) = (foreground, background)
                default: Issue.record("The terminal does not know the sequence \(sequence).")
                }
                index = end
            case let other: Issue.record("The terminal does not know the character \(other).")
            }
            index += 1
        }
        #expect(ink == foreground && paper == background, "Colours go on beyond a line.")
        return cells
    }
}
