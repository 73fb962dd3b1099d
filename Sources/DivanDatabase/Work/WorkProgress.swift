// SPDX-License-Identifier: Apache-2.0

/// How far a long piece of work has come.
public struct WorkProgress: Sendable {
    /// What is being done, in a word or two.
    public var phase: String
    /// The units done.
    public var completed: Int
    /// The units in all, where known.
    public var total: Int?

    /// Makes a progress report.
    public init(phase: String, completed: Int, total: Int?) {
        self.phase = phase
        self.completed = completed
        self.total = total
    }
}

/// Receives reports of progress; throwing stops the work.
public typealias ProgressHandler = (WorkProgress) throws -> Void
