// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One line of the table and of the results: a workload on an engine, beside the floors.
struct Row {
    var work: String
    var engine: String
    var perCPUSecond: Double?
    var wallPerSecond: Double?
    var peakRSSMegabytes: Double
    var diskMegabytes: Double
    /// What is told of a size, in megabytes.
    var size: Double?
    /// The plain floor's figure, in the same unit, and what this engine is of it.
    var floorPerCPUSecond: Double?
    var ratio: Double?
    /// What it is of the floor on the clock, where another core may take its share.
    var wallRatio: Double?
    /// The same for the floor of Divan's own rows.
    var layoutFloorPerCPUSecond: Double?
    var layoutRatio: Double?
    /// How long half of the operations took at most, and 99 of a hundred, in milliseconds.
    var p50: Double?
    var p99: Double?
    /// The documents in the database.
    var documents: Int?

    /// The rows of a workload measured in operations a second.
    static func rows(
        workload: String, _ medians: [String: Measurement], _ engines: [String]
    ) -> [Row] {
        engines.compactMap { engine in
            guard let found = medians[engine] else { return nil }
            let floor =
                medians[Engine.plainFloor(of: engine)] ?? medians[Engine.foundation]
                ?? medians[Engine.copy] ?? medians[Engine.fullTextFloor]
            let plain = floor?.perCPUSecond
            let isOnLMDB = Engine.plainFloor(of: engine) == Engine.plainLMDBFloor
            let layout = isOnLMDB ? nil : medians[Engine.layoutFloor]?.perCPUSecond
            return Row(
                work: workload, engine: engine,
                perCPUSecond: rounded(found.perCPUSecond, 1000),
                wallPerSecond: rounded(found.perWallSecond, 1000),
                peakRSSMegabytes: rounded(found.peakAnonymousMegabytes, 10),
                diskMegabytes: rounded(found.diskMegabytes, 10),
                floorPerCPUSecond: plain.map { rounded($0, 1000) },
                ratio: plain.map { rounded(found.perCPUSecond / $0, 1000) },
                wallRatio: floor.map { rounded(found.perWallSecond / $0.perWallSecond, 1000) },
                layoutFloorPerCPUSecond: layout.map { rounded($0, 1000) },
                layoutRatio: layout.map { rounded(found.perCPUSecond / $0, 1000) },
                p50: found.p50.map { rounded($0, 1000) },
                p99: found.p99.map { rounded($0, 1000) })
        }
    }

    /// The rows of a size in megabytes; less is better, and the ratio is of the sizes.
    static func sizes(
        _ work: String, _ medians: [String: Measurement], _ engines: [String],
        _ size: (Measurement) -> Double
    ) -> [Row] {
        engines.compactMap { engine in
            guard let found = medians[engine] else { return nil }
            let floor = medians[Engine.plainFloor(of: engine)] ?? medians[Engine.fullTextFloor]
            let plain = floor.map(size)
            let isOnLMDB = Engine.plainFloor(of: engine) == Engine.plainLMDBFloor
            let layout = isOnLMDB ? nil : medians[Engine.layoutFloor].map(size)
            return Row(
                work: work, engine: engine,
                peakRSSMegabytes: rounded(found.peakAnonymousMegabytes, 10),
                diskMegabytes: rounded(found.diskMegabytes, 10),
                size: rounded(size(found), 10),
                ratio: plain.map { rounded(size(found) / $0, 1000) },
                layoutRatio: layout.map { rounded(size(found) / $0, 1000) })
        }
    }

    private static func rounded(_ number: Double, _ parts: Double) -> Double {
        (number * parts).rounded() / parts
    }
}

// MARK: - The table

extension Row {
    static let heading =
        pad("work", 28) + pad("engine", 18) + right("per CPU s", 12) + right("wall/s", 12)
        + right("/ plain", 9) + right("/ layout", 10) + right("RAM MB", 8) + right("disk MB", 9)
        + right("p50 ms", 9) + right("p99 ms", 9)

    static func printNew(_ rows: ArraySlice<Row>) {
        for row in rows {
            print(row.line)
        }
        fflush(nil)
    }

    var line: String {
        func figure(_ number: Double?) -> String {
            guard let number else { return "-" }
            return switch unit {
            case .milliseconds: String(format: "%.3f ms", unit.figure(number))
            case .nanoseconds: String(format: "%.0f ns", unit.figure(number))
            case .gigabytes: String(format: "%.3f GB", unit.figure(number))
            case .operations, .megabytes: String(format: "%.0f", number)
            }
        }
        return Self.pad(work, 28) + Self.pad(engine, 18) + Self.right(figure(perCPUSecond), 12)
            + Self.right(figure(wallPerSecond), 12)
            + Self.right(ratio.map { String(format: "%.2f", $0) } ?? "-", 9)
            + Self.right(layoutRatio.map { String(format: "%.2f", $0) } ?? "-", 10)
            + Self.right(String(format: "%.1f", peakRSSMegabytes), 8)
            + Self.right(String(format: "%.1f", diskMegabytes), 9)
            + Self.right(p50.map { String(format: "%.3f", $0) } ?? "-", 9)
            + Self.right(p99.map { String(format: "%.3f", $0) } ?? "-", 9)
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
