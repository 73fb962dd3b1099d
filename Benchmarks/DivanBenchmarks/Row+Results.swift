// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What all rows of a run have in common.
struct RunFacts {
    /// When the run began, which tells its rows from those of other runs.
    var date = Date().formatted(.iso8601)
    /// The commit that was built, as the caller names it.
    var commit: String?
    var machine: String
    /// The runs of which each figure is the median.
    var runs: Int
}

extension Row {
    /// What the figures of a row are told in.
    enum Unit: String {
        case operations = "1/s"
        case milliseconds = "ms"
        case nanoseconds = "ns"
        case gigabytes = "GB/s"
        case megabytes = "MB"

        /// The figure of so many operations, or bytes, a second.
        func figure(_ perSecond: Double) -> Double {
            switch self {
            case .operations, .megabytes: perSecond
            case .milliseconds: 1000 / perSecond
            case .nanoseconds: 1e9 / perSecond
            case .gigabytes: perSecond / 1e9
            }
        }
    }

    /// An opening and a look-up are told better by how long they take than by how many fit in a
    /// second; work on text by its bytes.
    var unit: Unit {
        func begins(_ names: String...) -> Bool { names.contains { work.hasPrefix($0) } }
        return if size != nil {
            .megabytes
        } else if begins("open", "reduce_", "index_update", "property_update") || isTextSearch {
            .milliseconds
        } else if begins("property_lookup", "live_property") {
            .nanoseconds
        } else if begins("json_", "attachment_") {
            .gigabytes
        } else {
            .operations
        }
    }

    /// Builds on full text count documents.
    private var isTextSearch: Bool { work.contains("text_") && !work.hasSuffix("text_build") }

    /// The row as a JSON object on one line. What is nearly the same on every machine stands first.
    func resultLine(of run: RunFacts) throws -> String {
        // No run repeats the fifth digit.
        func figure(_ perSecond: Double?) -> Double? {
            perSecond.flatMap { Double(String(format: "%.4g", unit.figure($0))) }
        }
        let isRandom = work.hasSuffix("_random_ids")
        let fields: [(name: String, value: (any Encodable)?)] = [
            ("ratio", ratio), ("layout_ratio", layoutRatio), ("wall_ratio", wallRatio),
            ("work", isRandom ? String(work.dropLast("_random_ids".count)) : work),
            ("ids", isRandom ? "random" : "generated"),
            ("program", Engine.program(of: engine)), ("engine", engine),
            ("figure", size ?? figure(perCPUSecond)), ("wall", figure(wallPerSecond)),
            ("unit", unit.rawValue),
            ("floor", figure(floorPerCPUSecond)),
            ("layout_floor", figure(layoutFloorPerCPUSecond)),
            ("p50_ms", p50), ("p99_ms", p99),
            ("ram_mb", peakRSSMegabytes), ("disk_mb", diskMegabytes),
            ("documents", documents), ("runs", run.runs), ("commit", run.commit),
            ("date", run.date), ("machine", run.machine),
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let texts = try fields.compactMap { field in
            try field.value.map { value in
                "\"\(field.name)\": \(String(decoding: try encoder.encode(value), as: UTF8.self))"
            }
        }
        return "{\(texts.joined(separator: ", "))}"
    }
}
