// SPDX-License-Identifier: Apache-2.0

import DivanPeers
import Testing

/// Drawings in terminals that are dark and light, seen as pictures.
struct QRCodeTerminalTests {
    private static let text = "divan://192.168.1.7:49213/notes"

    /// A drawing, and a terminal for which it is meant.
    enum Showing: CaseIterable {
        case darkOnDark, lightOnLight, anyOnDark, anyOnLight

        func picture(_ code: QRCode) throws -> Picture {
            switch self {
            case .darkOnDark: try TestTerminal.dark.show(code.terminal(on: .dark))
            case .lightOnLight: try TestTerminal.light.show(code.terminal(on: .light))
            case .anyOnDark: try TestTerminal.dark.show(code.terminal(on: .any))
            case .anyOnLight: try TestTerminal.light.show(code.terminal(on: .any))
            }
        }
    }

    @Test(arguments: QRCode.TerminalBackground.allCases)
    func `a drawing has a character for two modules, and the quiet zone around`(
        background: QRCode.TerminalBackground
    ) throws {
        let code = try QRCode(Self.text)
        let drawing = code.terminal(on: background)
        #expect(drawing.last == "\n")
        let lines = drawing.split(separator: "\n").map { line in
            line.unicodeScalars.filter { $0 == " " || $0.value > 0x7F }
        }
        #expect(lines.count == (code.side + 9) / 2)
        #expect(lines.allSatisfy { $0.count == code.side + 8 })
    }

    @Test func `only a drawing for any background has escape sequences`() throws {
        let code = try QRCode(Self.text)
        #expect(code.terminal() == code.terminal(on: .any))
        #expect(code.terminal().contains("\u{1B}"))
        #expect(!code.terminal(on: .dark).contains("\u{1B}"))
        #expect(!code.terminal(on: .light).contains("\u{1B}"))
    }

    @Test(arguments: Showing.allCases)
    func `a terminal shows each module in its shade, and a light quiet zone`(
        showing: Showing
    ) throws {
        let code = try QRCode(Self.text)
        let seen = SeenCode(try showing.picture(code), of: code)
        for y in -4..<code.side + 4 {
            for x in -4..<code.side + 4 {
                #expect((seen.shade(x, y) < 128) == code.isDark(x: x, y: y), "\(x), \(y)")
            }
        }
        #expect(!seen.isInverted)
    }

    @Test func `a drawing for the other background comes out inverted`() throws {
        let code = try QRCode(Self.text)
        let dark = try TestTerminal.dark.show(code.terminal(on: .light))
        let light = try TestTerminal.light.show(code.terminal(on: .dark))
        #expect(SeenCode(dark, of: code).isInverted)
        #expect(SeenCode(light, of: code).isInverted)
    }

    @Test(.enabled(if: CodeReader.program != nil, CodeReader.reason), arguments: Showing.allCases)
    func `a code is read from a terminal`(showing: Showing) throws {
        let code = try QRCode(Self.text)
        #expect(try CodeReader.read(showing.picture(code)) == Self.text)
    }

    @Test(.enabled(if: CodeReader.program != nil, CodeReader.reason))
    func `an inverted drawing is not read`() throws {
        let code = try QRCode(Self.text)
        #expect(try CodeReader.read(TestTerminal.dark.show(code.terminal(on: .light))) == nil)
        #expect(try CodeReader.read(TestTerminal.light.show(code.terminal(on: .dark))) == nil)
    }
}

/// A code in a picture of a terminal.
private struct SeenCode {
    let picture: Picture
    let side: Int

    init(_ picture: Picture, of code: QRCode) {
        self.picture = picture
        side = code.side
    }

    /// The mean shade of a module; the quiet zone has negative numbers, and those from the side on.
    func shade(_ x: Int, _ y: Int) -> Int {
        let left = (x + 4 + TestTerminal.margin) * Picture.scale
        let top = (y + 4 + 2 * TestTerminal.margin) * Picture.scale
        return picture.mean(left..<left + Picture.scale, top..<top + Picture.scale)
    }

    /// Whether the quiet zone is darker than the ring of the first corner's pattern, which is dark.
    var isInverted: Bool {
        let quiet = (-4..<side + 4).map { shade($0, -4) + shade($0, side + 3) }.reduce(0, +)
        let ring = (0..<7).map { shade($0, 0) }.reduce(0, +)
        return quiet / (2 * (side + 8)) < ring / 7
    }
}
