// SPDX-License-Identifier: Apache-2.0

import DivanPeers
import DivanPlatform
import Testing

/// Drawings as files: SVG and PNG.
struct QRCodeFileTests {
    private static let text = "divan://192.168.1.7:49213/notes"

    @Test func `the path of an SVG picture covers the dark modules, each once`() throws {
        let code = try QRCode(Self.text)
        let svg = try SVGCode(code.svg())
        #expect(svg.whole == code.side + 8)
        #expect(svg.background == "M0 0h\(svg.whole)v\(svg.whole)H0z")
        for y in 0..<svg.whole {
            for x in 0..<svg.whole {
                let isDark = code.isDark(x: x - 4, y: y - 4)
                #expect(svg.covered[y][x] == (isDark ? 1 : 0), "\(x), \(y)")
            }
        }
    }

    @Test(arguments: [1, 3, 8])
    func `a PNG picture has the modules as pixels, whole and with right checksums`(
        scale: Int
    ) throws {
        let code = try QRCode(Self.text)
        let png = try PNGFile(code.png(scale: scale))
        #expect(png.width == (code.side + 8) * scale && png.height == png.width)
        let stride = 1 + (png.width + 7) / 8
        #expect(png.rows.count == stride * png.height)
        for y in 0..<png.height {
            #expect(png.rows[y * stride] == 0, "Row \(y) has a filter.")
            for x in 0..<png.width {
                let isWhite = png.rows[y * stride + 1 + x / 8] >> UInt8(7 - x % 8) & 1 == 1
                let isDark = code.isDark(x: x / scale - 4, y: y / scale - 4)
                if isWhite == isDark { Issue.record("The pixel \(x), \(y) is wrong.") }
            }
        }
    }

    @Test func `a scale out of bounds counts as the nearest one`() throws {
        let code = try QRCode("a")
        #expect(code.png(scale: 0) == code.png(scale: 1))
        #expect(code.png(scale: .min) == code.png(scale: 1))
        #expect(code.png(scale: .max) == code.png(scale: 64))
    }

    @Test(.enabled(if: CodeReader.program != nil, CodeReader.reason), arguments: [2, 3, 8, 16])
    func `a code is read from a PNG picture`(scale: Int) throws {
        let png = try QRCode(Self.text).png(scale: scale)
        #expect(try CodeReader.read(png, named: "code.png") == Self.text)
    }

    @Test(.enabled(if: CodeReader.program != nil, CodeReader.reason))
    func `a code is read from an SVG picture`() throws {
        let svg = try SVGCode(QRCode(Self.text).svg())
        let scale = Picture.scale
        var picture = Picture(width: svg.whole * scale, height: svg.whole * scale)
        for (y, row) in svg.covered.enumerated() {
            for (x, count) in row.enumerated() where count > 0 {
                picture.fill(
                    x * scale..<(x + 1) * scale, y * scale..<(y + 1) * scale, 0)
            }
        }
        #expect(try CodeReader.read(picture) == Self.text)
    }
}

/// An SVG picture as `QRCode` draws it, read by the few commands that it uses.
private struct SVGCode {
    let whole: Int
    let background: String
    /// How many rectangles of the path cover each unit.
    let covered: [[Int]]

    init(_ text: String) throws {
        let pattern =
            #/<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 (\d+) (\d+)" shape-rendering="crispEdges"><path fill="#fff" d="([^"]*)"/><path d="([^"]*)"/></svg>\n/#
        let match = try #require(text.wholeMatch(of: pattern))
        #expect(match.1 == match.2)
        let whole = try #require(Int(match.1))
        background = String(match.3)
        var covered = [[Int]](repeating: [Int](repeating: 0, count: whole), count: whole)
        for rectangle in match.4.split(separator: "z") {
            let numbers = try #require(rectangle.wholeMatch(of: #/M(\d+) (\d+)h(\d+)v1h-(\d+)/#))
            let x = try #require(Int(numbers.1))
            let y = try #require(Int(numbers.2))
            let width = try #require(Int(numbers.3))
            #expect(numbers.3 == numbers.4)
            for column in x..<x + width { covered[y][column] += 1 }
        }
        self.covered = covered
        self.whole = whole
    }
}

/// A PNG file of one grey bit for each pixel, taken apart with a CRC-32 of the test's own.
private struct PNGFile {
    private(set) var width = 0
    private(set) var height = 0
    /// What the compressed content decodes to.
    private(set) var rows: [UInt8] = []

    init(_ file: [UInt8]) throws {
        #expect(file.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
        var rest = file.dropFirst(8)
        var types: [String] = []
        while !rest.isEmpty {
            let count = try #require(Self.number(&rest))
            let body = Array(rest.prefix(4 + count))
            rest = rest.dropFirst(4 + count)
            #expect(Self.number(&rest) == Int(Self.checksum(body)))
            types.append(String(decoding: body.prefix(4), as: UTF8.self))
            try take(types.last ?? "", body.dropFirst(4))
        }
        #expect(types == ["IHDR", "IDAT", "IEND"])
    }

    private mutating func take(_ type: String, _ content: ArraySlice<UInt8>) throws {
        switch type {
        case "IHDR":
            var content = content
            width = try #require(Self.number(&content))
            height = try #require(Self.number(&content))
            #expect(Array(content) == [1, 0, 0, 0, 0])
        case "IDAT":
            // A zlib stream and a gzip stream differ in their ends, which say nothing of the rows here.
            let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
            let deflated = header + content.dropFirst(2).dropLast(4)
            var decoded: [UInt8] = []
            // The decoder hands out all rows before it misses the end.
            try? GzipDecoder().decode(deflated.span) { decoded += $0 }
            rows = decoded
        default: #expect(content.isEmpty)
        }
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) -> Int? {
        guard rest.count >= 4 else { return nil }
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var checksum: UInt32 = .max
        for byte in bytes {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = checksum >> 1 ^ (checksum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~checksum
    }
}
