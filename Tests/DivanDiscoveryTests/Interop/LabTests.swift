// SPDX-License-Identifier: Apache-2.0

import Testing

/// Divan meets foreign parties on networks of the tests' own; one line says why where all of it is skipped.
@Suite(.enabled(if: NetworkLab.isAllowed, NetworkLab.need), .timeLimit(.minutes(5)))
enum LabTests {}
