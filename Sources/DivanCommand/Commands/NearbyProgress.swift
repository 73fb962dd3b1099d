// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanPeers

/// Draws how far the pulls from peers have come, all in one bar, as long as one of them has something to transfer.
struct NearbyProgress {
    private let output: Output
    /// The bar, while something is transferred: its figures begin with each burst.
    private var bar: ProgressBar?
    /// The pulls that count: those that were busy since the bar began.
    private var counted = NameSet()

    init(_ output: Output) { self.output = output }

    /// Takes the newest statuses.
    mutating func show(_ statuses: [PeerStatus]) {
        let pulls = statuses.flatMap { status in
            status.pulls.map { (name: "\(status.id)/\($0.key)", status: $0.value) }
        }
        let busy = pulls.filter {
            $0.status.activity == .active && $0.status.total.addingSaturated($0.status.pending) > 0
        }
        guard !busy.isEmpty else { return end() }
        for pull in busy { counted.insert(pull.name) }
        let all = pulls.filter { counted.contains($0.name) }.map(\.status)
        let bar = bar ?? ProgressBar("Receiving", noun: "document", output: output)
        self.bar = bar
        let transferred = all.reduce(0) { $0.addingSaturated($1.transferred) }
        bar.update(
            completed: transferred,
            total: all.reduce(0) { $0.addingSaturated($1.total).addingSaturated($1.pending) },
            count: transferred)
    }

    /// Takes the bar away, so that a line can be printed; the next status draws it again.
    func hide() { bar?.finish() }

    private mutating func end() {
        hide()
        bar = nil
        counted = NameSet()
    }
}
