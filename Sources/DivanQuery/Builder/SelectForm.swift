// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a query asks, apart from its limits and the values of parameters.
///
/// All copies of a query share it, those with other values of parameters included. It keeps what the first run made ready,
/// so that a query that runs again has only its condition to read.
final class SelectForm: Sendable {
    /// The clauses of a query.
    struct Clauses: Sendable {
        let columns: [SelectResult]
        let isDistinct: Bool
        var source: DataSource
        var joins: [Join] = []
        var condition: ExpressionNode?
        var grouping: [ExpressionNode] = []
        var groupCondition: ExpressionNode?
        var ordering: [Ordering] = []
    }

    let clauses: Clauses
    private let plan = Mutex<SelectPlan?>(nil)

    init(_ clauses: Clauses) { self.clauses = clauses }

    /// The plan without its condition, if a run has kept it.
    var keptPlan: SelectPlan? { plan.withLock { $0 } }

    /// Keeps a plan without its condition, in which no value of a parameter stands.
    func keep(_ ready: SelectPlan) { plan.withLock { $0 = ready } }

    /// Whether a parameter stands elsewhere than in the condition.
    var hasParametersOutsideCondition: Bool {
        let nodes =
            clauses.columns.map(\.node) + clauses.joins.map(\.condition) + clauses.grouping
            + [clauses.groupCondition].compactMap(\.self) + clauses.ordering.map(\.node)
        return nodes.contains { node in
            node.contains { if case .parameter = $0 { true } else { false } }
        }
    }
}
