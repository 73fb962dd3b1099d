// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import Foundation

/// Work on the JSON of one document at a time, without a database: by Divan, or by Foundation's
/// `JSONSerialization` as the floor.
struct JSONWork {
    let input: InputFile
    let operations: Int
    let isFoundation: Bool

    /// Runs a workload by name; nil for one that is not about JSON.
    func run(_ work: String) throws -> Timing? {
        switch work {
        case "json_parse": try parse()
        case "json_canonical": try canonical()
        case "property_lookup": try lookUp()
        default: nil
        }
    }

    /// How many texts the work goes round: some hundred kilobytes, more than a cache holds of them.
    private var turn: Int { min(input.count, 1_000) }

    /// How many bytes `operations` turns over the texts go through.
    private var bytes: Int {
        (0..<operations).reduce(0) { $0 + input.textLength($1 % turn) }
    }

    /// The texts for Foundation, which takes no spans: copied before the clock starts.
    private func datas() -> [Data] {
        (0..<turn).map { index in
            input.withText(index) { text in text.withUnsafeBufferPointer { Data($0) } }
        }
    }

    /// Text into the packed form; into a dictionary for Foundation.
    private func parse() throws -> Timing {
        let datas = isFoundation ? datas() : []
        var timing = try measuring {
            var sum = 0
            for index in 0..<operations {
                if isFoundation {
                    let value = try JSONSerialization.jsonObject(with: datas[index % turn])
                    sum += (value as? [String: Any])?.count ?? -1
                } else {
                    sum += try input.withText(index % turn) {
                        try PackedValue(parsing: $0).count
                    }
                }
            }
            return sum
        }
        timing.units = bytes
        return timing
    }

    /// A parsed document into the text that is hashed: keys sorted.
    private func canonical() throws -> Timing {
        let packed = try (0..<turn).map { index in
            try input.withText(index) { try PackedValue(parsing: $0) }
        }
        let objects = try datas().map { try JSONSerialization.jsonObject(with: $0) }
        var timing = try measuring {
            var sum = 0
            var text: [UInt8] = []
            for index in 0..<operations {
                if isFoundation {
                    sum += try JSONSerialization.data(
                        withJSONObject: objects[index % objects.count], options: .sortedKeys
                    ).count
                } else {
                    text.removeAll(keepingCapacity: true)
                    CanonicalJSON.append(body: packed[index % packed.count], to: &text)
                    sum += text.count
                }
            }
            return sum
        }
        timing.units = bytes
        return timing
    }

    /// One number out of ten properties.
    private func lookUp() throws -> Timing {
        let texts = (0..<1_000).map { number in
            let pairs = (0..<10).map { "\"key\($0)\":\(number + $0)" }
            return Array("{\(pairs.joined(separator: ","))}".utf8)
        }
        let packed = try texts.map { try PackedValue(parsing: $0) }
        let objects = try texts.compactMap {
            try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any]
        }
        let keys = (0..<10).map { "key\($0)" }
        return measuring {
            var sum = 0
            for index in 0..<operations {
                let key = keys[index % 10]
                if isFoundation {
                    sum += (objects[index % 1_000][key] as? NSNumber)?.intValue ?? -1
                } else {
                    sum += Int(packed[index % 1_000][key]?.int64 ?? -1)
                }
            }
            return sum
        }
    }
}
