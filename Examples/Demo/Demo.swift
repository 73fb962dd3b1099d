// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// Real open data in a real database, in two processes.
///
/// ```
/// DivanDemo import FOLDER [JSON-FOLDER]     the first process: imports, and ends
/// DivanDemo continue FOLDER                 the second: finds it all again, edits, resolves, checks
/// ```
///
/// Everything here is the public API; `scripts/demo` runs both.
enum Demo {
    static let usage = "usage: DivanDemo import FOLDER [JSON-FOLDER] | continue FOLDER\n"
    static let isoCodes = "/usr/share/iso-codes/json"

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case ("import", 2...3):
                let data = arguments.count == 3 ? arguments[2] : isoCodes
                try ImportStep(folder: arguments[1], dataFolder: data).run()
            case ("continue", 2):
                try EditStep(folder: arguments[1]).run()
            default:
                FileHandle.standardError.write(Data(usage.utf8))
                exit(64)
            }
        } catch {
            FileHandle.standardError.write(Data("demo: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Says what comes next.
    static func headline(_ text: String) {
        print("\n\(text)\n\(String(repeating: "-", count: text.count))")
    }

    /// Says one finding, label first.
    static func fact(_ label: String, _ value: String) {
        print("  " + label.padding(toLength: 34, withPad: " ", startingAt: 0) + value)
    }

    static func seconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    static func rate(_ count: Int, _ duration: Duration, of what: String) -> String {
        let time = max(seconds(duration), 1e-6)
        return String(
            format: "%d %@ in %.2f s, %.0f a second", count, what, time, Double(count) / time)
    }

    static func megabytes(_ bytes: Int) -> String {
        String(format: "%.2f MB", Double(bytes) / 1e6)
    }
}
