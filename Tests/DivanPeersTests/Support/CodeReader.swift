// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// Reads QR codes by the program zbarimg, where that is installed.
enum CodeReader {
    /// Where the program is; nil where it is not.
    static let program = Machine.program("zbarimg")
    /// Why a test is skipped without it.
    static let reason: Comment = "It needs the program zbarimg (package zbar-tools)."

    /// The text of the one code in a picture file; nil when the program sees none.
    ///
    /// - Parameters:
    ///   - file: The content of the file.
    ///   - name: The file's name, of which the end says its format.
    static func read(_ file: [UInt8], named name: String) throws -> String? {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/" + name
        try Data(file).write(to: URL(filePath: path))
        let output = try ChildProcess.output(
            of: try #require(program),
            ["--nodbus", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", path])
        return output.isEmpty ? nil : String(output.dropLast())
    }

    /// The text of the one code in a picture; nil when the program sees none.
    static func read(_ picture: Picture) throws -> String? {
        try read(picture.pgm, named: "code.pgm")
    }
}
