// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Writes numbers as people read them.
enum Quantity {
    /// "1,234,567"
    static func grouped(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var result = number < 0 ? "-" : ""
        for (i, digit) in digits.enumerated() {
            if i > 0, (digits.count - i) % 3 == 0 { result += "," }
            result.append(digit)
        }
        return result
    }

    /// "1 document", "2,000 documents"
    static func counted(_ number: Int, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// "512 B", "1.5 kB", "42.7 MB": thousands, as disks are sold and as Divan's documents count.
    static func bytes(_ count: Int) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var value = Double(count)
        var unit = 0
        // 999.95 would be written as 1000.0 of a unit.
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\(fixed(value, 1)) \(units[unit])"
    }

    /// "0:07", "12:34", "3:00:00"
    static func clock(_ duration: Duration) -> String {
        let seconds = max(0, Int(clamping: duration.components.seconds))
        let tail = twoDigits(seconds % 60)
        guard seconds >= 3600 else { return "\(seconds / 60):\(tail)" }
        return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(tail)"
    }

    static func fixed(_ value: Double, _ digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int(clamping: (value * scale).rounded())
        guard digits > 0 else { return String(scaled) }
        let text = String(scaled.magnitude)
        let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        let point = padded.index(padded.endIndex, offsetBy: -digits)
        return "\(scaled < 0 ? "-" : "")\(padded[..<point]).\(padded[point...])"
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : String(number)
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
