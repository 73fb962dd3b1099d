// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel

extension JSONValue {
    /// The number in a sequence that stands for a place of the listener's own: `3` of `"3-Yh3kJc0qPzE"`.
    var place: SequenceNumber? {
        guard let parts = string?.split(separator: "-"), parts.count == 2, parts[1].count == 11
        else { return nil }
        return SequenceNumber(parts[0])
    }
}
