// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput

/// The workloads A to F of the Yahoo! Cloud Serving Benchmark. Each write is a commit of its own, as durable as `.normal`.
extension Workload {
    static func records(_ count: Int) -> [Workload] {
        RecordRequests.Mix.allCases.map { mix in
            Workload(
                name: mix.name + "_random_ids", work: mix.name, ids: .random,
                // A scan is fifty reads.
                operations: max(1, mix == .e ? count / 20 : count / 2), start: .copy,
                floors: .peers, texts: .records, documents: count)
        }
    }

    /// The mix of requests; nil for another workload.
    var mix: RecordRequests.Mix? { RecordRequests.Mix.allCases.first { $0.name == work } }
}
