// SPDX-License-Identifier: Apache-2.0

import Testing

/// Divan meets foreign parties on networks of the tests' own.
@Suite(.enabled(if: NetworkLab.isAllowed, NetworkLab.need), .timeLimit(.minutes(5)))
enum LabTests {}
