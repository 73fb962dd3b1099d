// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Testing

extension Replication {
    /// Runs to its end, which must be a good one.
    func run(sourceLocation: SourceLocation = #_sourceLocation) async {
        start()
        await finished()
        #expect(lastError == nil, sourceLocation: sourceLocation)
    }
}
