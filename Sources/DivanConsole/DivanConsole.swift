// SPDX-License-Identifier: Apache-2.0

internal import CConsole
internal import DivanJSON
public import DivanListener

extension ListenerConsole {
    /// The console of Divan: it shows, searches, mends and syncs the databases of a listener in a browser.
    ///
    /// ```swift
    /// import DivanConsole
    ///
    /// var options = ListenerOptions()
    /// options.console = .divan
    /// ```
    ///
    /// `divan serve` serves it unless told otherwise. An app that does not import `DivanConsole` has none of its files.
    public static let divan = ListenerConsole { path in
        for number in 0..<divan_console_count() {
            let file = unsafe divan_console_file(number)
            guard unsafe String(cString: file.path).hasSameBytes(as: path) else { continue }
            // SAFETY: the array is a constant of the program and has this length.
            return unsafe Array(UnsafeBufferPointer(start: file.bytes, count: file.length))
        }
        return nil
    }
}
