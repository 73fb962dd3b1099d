// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One line of the table and of the results: a workload on an engine, beside the floors.
struct Row: Encodable {
    var work: String
    var engine: String
    var perCPUSecond: Double?
    var wallPerSecond: Double?
    var peakRSSMegabytes: Double
    var diskMegabytes: Double
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

    enum CodingKeys: String, CodingKey {
        case work, engine, ratio, documents
        case perCPUSecond = "per_cpu_second"
        case wallPerSecond = "wall_per_second"
        case peakRSSMegabytes = "peak_rss_mb"
        case diskMegabytes = "disk_mb"
        case floorPerCPUSecond = "floor_per_cpu_second"
        case layoutFloorPerCPUSecond = "layout_floor_per_cpu_second"
        case layoutRatio = "layout_ratio"
        case wallRatio = "wall_ratio"
        case p50 = "p50_ms"
        case p99 = "p99_ms"
    }

    /// The rows of a workload measured in operations a second.
    static func rows(
        workload: String, _ medians: [String: Measurement], _ engines: [String]
    ) -> [Row] {
        engines.compactMap { engine in
            guard let found = medians[engine] else { return nil }
            let floor =
                medians[Engine.plainFloor(of: engine)] ?? medians[Engine.foundation]
                ?? medians[Engine.copy]
            let plain = floor?.perCPUSecond
            let isOnLMDB = Engine.plainFloor(of: engine) == Engine.plainLMDBFloor
            let layout = isOnLMDB ? nil : medians[Engine.layoutFloor]?.perCPUSecond
            return Row(
                work: workload, engine: engine,
                perCPUSecond: rounded(found.perCPUSecond, 1),
                wallPerSecond: rounded(found.perWallSecond, 1),
                peakRSSMegabytes: rounded(found.peakAnonymousMegabytes, 10),
                diskMegabytes: rounded(found.diskMegabytes, 10),
                floorPerCPUSecond: plain.map { rounded($0, 1) },
                ratio: plain.map { rounded(found.perCPUSecond / $0, 1000) },
                wallRatio: floor.map { rounded(found.perWallSecond / $0.perWallSecond, 1000) },
                layoutFloorPerCPUSecond: layout.map { rounded($0, 1) },
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
            let plain = medians[Engine.plainFloor(of: engine)].map(size)
            let isOnLMDB = Engine.plainFloor(of: engine) == Engine.plainLMDBFloor
            let layout = isOnLMDB ? nil : medians[Engine.layoutFloor].map(size)
            return Row(
                work: work, engine: engine,
                peakRSSMegabytes: rounded(found.peakAnonymousMegabytes, 10),
                diskMegabytes: rounded(found.diskMegabytes, 10),
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
            // An opening and a look-up are told better by how long they take than by how many fit
            // in a second; work on text by its bytes.
            return switch work {
            case _ where Self.isTime(work): String(format: "%.3f ms", 1000 / number)
            case "property_lookup": String(format: "%.0f ns", 1e9 / number)
            case "live_property": String(format: "%.0f ns", 1e9 / number)
            case _ where work.hasPrefix("json_") || work.hasPrefix("attachment_"):
                String(format: "%.3f GB", number / 1e9)
            default: String(format: "%.0f", number)
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

    /// Work that is told by how long one operation takes.
    private static func isTime(_ work: String) -> Bool {
        ["open", "reduce_", "index_update"].contains { work.hasPrefix($0) }
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
