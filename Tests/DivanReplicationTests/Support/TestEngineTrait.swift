// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

/// Has a suite keep its databases by the engine that `DIVAN_TEST_ENGINE` names.
struct TestEngineTrait: SuiteTrait, TestTrait {
    func prepare(for test: Test) async throws { TestEngine.use() }
}

extension Trait where Self == TestEngineTrait {
    /// The engine that the tests run on.
    static var onTestEngine: Self { Self() }
}
