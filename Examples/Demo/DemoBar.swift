// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A progress bar of one line, only on a terminal.
struct DemoBar {
    var label: String
    var total: Int

    private let isTerminal = isatty(1) == 1
    private static let width = 40

    init(label: String, total: Int) {
        self.label = label
        self.total = total
    }

    func show(_ done: Int) {
        guard isTerminal else { return }
        let filled = Self.width * done / max(total, 1)
        let bar =
            String(repeating: "#", count: filled)
            + String(repeating: ".", count: Self.width - filled)
        print("\r  \(label) [\(bar)] \(done)/\(total)", terminator: "")
        fflush(nil)
    }

    func finish() {
        if isTerminal { print() }
    }
}
