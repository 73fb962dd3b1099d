// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan

/// The workloads A to F of the Yahoo! Cloud Serving Benchmark, each request a call of its own.
extension DivanWork {
    private static let fields = (0..<RecordDocument.fieldCount).map { "field\($0)" }

    /// Runs a workload by name; nil for one that is none of these.
    func runRecordWork(_ work: String, on database: Database) throws -> Timing? {
        guard work.hasPrefix("ycsb_") else { return nil }
        let requests = try RecordRequests.read(work, beside: inputPath)
        return try measuring {
            var sum = 0
            for (number, request) in requests.prefix(operations).enumerated() {
                sum += try answer(request, number, database)
            }
            return sum
        }
    }

    private func answer(
        _ request: RecordRequests.Request, _ number: Int, _ database: Database
    ) throws -> Int {
        let id = input.documentID(request.record)
        let field = Self.fields[request.field]
        func read() throws -> Int {
            try database.document(withID: id)?[field].string?.utf8.count ?? 0
        }
        func update() throws -> Int {
            let value = String(
                repeating: Character(UnicodeScalar(UInt8(ascii: "a") + UInt8(number % 26))),
                count: RecordDocument.fieldLength)
            return Int(try database.update(id) { $0.set(value, forKey: field) }.generation)
        }
        switch request.kind {
        case .read: return try read()
        case .update: return try update()
        case .readAndUpdate: return try read() + update()
        case .insert:
            let document = try input.withText(request.record) {
                try MutableDocument(json: $0, id: id)
            }
            try database.save(document)
            return 1
        case .scan:
            var options = AllDocumentsOptions()
            options.includeDocuments = true
            options.startID = id
            options.limit = request.count
            var sum = 0
            try database.forEachDocument(options) { row in
                sum += row.document?[field].string?.utf8.count ?? 0
            }
            return sum
        }
    }
}
