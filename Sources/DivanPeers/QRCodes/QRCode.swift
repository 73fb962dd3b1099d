// SPDX-License-Identifier: Apache-2.0

internal import CQRCode

/// A QR code: a text as a square of dark and light modules, which a camera reads.
///
/// ```swift
/// let code = try QRCode("https://192.168.1.7:49213/notes")
/// print(code.terminal(), terminator: "")
/// ```
///
/// There are four drawings: ``terminal(on:)`` for a terminal, ``svg()`` for a page, ``png(scale:)`` for a file, and
/// ``isDark(x:y:)`` for an app that draws by itself:
///
/// ```swift
/// for y in 0..<code.side {
///     for x in 0..<code.side where code.isDark(x: x, y: y) { fill(x, y) }
/// }
/// ```
///
/// ## The quiet zone
/// Readers find a code by the light border around it, four modules wide. The modules do not contain it. The drawings do:
///
///     ┌───────────────────┐
///     │  quiet zone, 4    │      width and height of a drawing:
///     │   ┌───────────┐   │      side + 2 * quietZone
///     │ 4 │  modules  │ 4 │
///     │   └───────────┘   │
///     │         4         │
///     └───────────────────┘
///
/// ## Invariants
/// 1. `side` is 17 + 4 * version, where the version is 1 to 40: the smallest one that has room for the text.
/// 2. There are `side * side` modules, row by row from the top.
///
/// ## What it does not do
/// It reads no codes, and does not divide a text among several codes. The text is always coded as 8-bit data. A text
/// beyond ASCII has a mark that says that it is UTF-8 (ECI 26), which takes the room of a byte: without it some readers take a few accents for
/// another encoding.
public struct QRCode: Sendable, Hashable {
    /// How much of a code may be hidden or damaged before it can no longer be read.
    ///
    /// More correction makes a larger code of the same text, whose modules are smaller on the same screen.
    public enum Correction: Int, Sendable, CaseIterable, Comparable {
        /// About 7 percent (L): for a screen.
        case low
        /// About 15 percent (M).
        case medium
        /// About 25 percent (Q).
        case quartile
        /// About 30 percent (H): for print that gets dirty, or a picture over the middle of the code.
        case high

        /// Whether a level corrects less than another one.
        public static func < (left: Correction, right: Correction) -> Bool {
            left.rawValue < right.rawValue
        }

        /// The most bytes of ASCII in a code of this level: those of version 40 (ISO/IEC 18004, table 7). Of a text beyond ASCII a code takes
        /// one byte less.
        public var mostBytes: Int {
            switch self {
            case .low: 2_953
            case .medium: 2_331
            case .quartile: 1_663
            case .high: 1_273
            }
        }
    }

    /// The width of the light border that readers need, in modules.
    public static let quietZone = 4

    /// The number of modules along each side, without the quiet zone: 21 to 177.
    public let side: Int
    /// The level of correction that the code has: the one that was asked for, or a higher one that takes no more room.
    public let correction: Correction
    private let modules: [UInt8]

    /// Makes the code of a text.
    ///
    /// The code gets the highest level of correction that does not make it larger than the level that is asked for.
    ///
    /// - Parameters:
    ///   - text: The text, of which the UTF-8 is coded.
    ///   - correction: The least level of correction.
    /// - Throws: `PeerError` with code `.invalidValue` when the text is empty, or longer than
    ///   ``Correction/mostBytes``.
    public init(_ text: String, correction: Correction = .medium) throws(PeerError) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw .emptyCode }
        guard let asked = Self.make(bytes, correction) else {
            throw .longCode(
                bytes.count, limit: correction.mostBytes - (Self.isASCII(bytes) ? 0 : 1),
                isLowest: correction == .low)
        }
        var found = (side: asked.side, modules: asked.modules, correction: correction)
        for higher in Correction.allCases where higher > correction {
            guard let other = Self.make(bytes, higher), other.side == asked.side else { break }
            found = (other.side, other.modules, higher)
        }
        (side, modules, self.correction) = found
        checkInvariants()
    }

    /// Whether a module is dark.
    ///
    /// - Parameters:
    ///   - x: The column, from 0 at the left.
    ///   - y: The row, from 0 at the top.
    /// - Returns: Whether it is dark; what lies outside of the code, such as the quiet zone, is light.
    public func isDark(x: Int, y: Int) -> Bool {
        guard (0..<side).contains(x), (0..<side).contains(y) else { return false }
        return modules[y * side + x] == 1
    }

    private static func isASCII(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy { $0 < 0x80 } }

    /// Stops the program when an invariant does not hold.
    private func checkInvariants() {
        precondition(
            side >= 21 && side <= 177 && side % 4 == 1, "A QR code has a side that no version has.")
        precondition(modules.count == side * side, "A QR code lacks modules.")
    }

    /// The modules for bytes; nil when no code of this level takes so many.
    private static func make(
        _ bytes: [UInt8], _ correction: Correction
    ) -> (side: Int, modules: [UInt8])? {
        let room = Int(clamping: DIVAN_QRCODE_MOST_SIDE)
        var modules = [UInt8](repeating: 0, count: room * room)
        let isMarked: Int32 = isASCII(bytes) ? 0 : 1
        let level = divan_qrcode_correction(UInt32(clamping: correction.rawValue))
        // SAFETY: the bytes are valid for the call and their number is passed; the modules have the room that is promised.
        let made = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe modules.withUnsafeMutableBufferPointer { modules in
                unsafe divan_qrcode_make(
                    bytes.baseAddress, bytes.count, isMarked, level, modules.baseAddress)
            }
        }
        precondition(made >= 0, "There is no memory for a QR code.")
        let side = Int(clamping: made)
        return side > 0 ? (side, Array(modules.prefix(side * side))) : nil
    }
}

// The text may be a secret, and the modules are the text.
extension QRCode: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The size and the level of correction; never the modules.
    public var description: String { "QRCode(\(side) by \(side) modules, \(correction))" }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// A mirror without children, so that dumping a value shows no more than its description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
