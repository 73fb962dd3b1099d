// SPDX-License-Identifier: Apache-2.0

import DivanStorage

extension StorageConformance {
    /// Three transactions of ten operations each, the second with a savepoint and a drop.
    private static func workload(on engine: any StorageEngine, committed: inout Int) throws {
        let (texts, other) = (engine.store(.texts), engine.store(StoreName("other", .bytes)))
        for round in 0..<3 {
            try engine.write { writer in
                for key in 0..<4 {
                    try writer.set("\(round)", "\(key)", in: texts)
                }
                _ = try writer.insert("\(round)", "round \(round)", in: texts)
                try writer.savepoint { () throws -> Void in
                    try writer.set("\(round)", "a", in: other)
                    _ = try writer.remove("a", in: other)
                }
                if round == 1 {
                    try writer.drop(other)
                }
            }
            committed = round + 1
        }
    }

    static let faultFacts = [
        Fact("whichever operation fails, whole transactions stay and nothing else") { subject in
            for code in [StorageError.Code.full, .io] {
                var number = 1
                while true {
                    let plan = FaultPlan(failing: number, with: code)
                    try subject.withEngine { inside in
                        let engine = FaultyEngine(inside, plan: plan)
                        let texts = engine.store(.texts)
                        var committed = 0
                        do {
                            try workload(on: engine, committed: &committed)
                        } catch let error as StorageError {
                            try expect(error.code == code, "the error comes through: \(error)")
                        }
                        let expected = committed == 0 ? 0 : 4 + committed
                        try inside.read { reader in
                            try expect(
                                try reader.count(of: texts) == expected,
                                "\(committed) transactions stay when operation \(number) fails")
                            let last = committed == 0 ? nil : "\(committed - 1)"
                            try expect(
                                try reader.text("3", in: texts) == last, "the last one whole")
                        }
                        // The engine is as good as before.
                        try inside.write { try $0.set("after", "z", in: texts) }
                    }
                    if !plan.hasFailed {
                        break
                    }
                    number += 1
                }
                try expect(number > 20, "more than twenty operations have failed")
            }
        }
    ]
}
