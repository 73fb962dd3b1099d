// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// Whether the disk is too full for edits, as the section `disk_monitor` of the configuration says.
///
/// State: what was seen last, guarded by the mutex. The disk is looked at once a second at most.
final class DiskMonitor: Sendable {
    private struct Look {
        var percent: Int
        var time: ContinuousClock.Instant
    }

    private let path: String
    private let percent: @Sendable (String) -> Int?
    private let last = Mutex<Look?>(nil)

    /// Makes one for the file system of a directory.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - percent: How much of it is used, in percent; nil where that is not known.
    init(_ path: String, percent: @escaping @Sendable (String) -> Int? = Volume.usedPercent) {
        self.path = path
        self.percent = percent
    }

    /// Whether more of the disk is used than a threshold says; false where that is not known.
    func isOver(_ threshold: Int, now: ContinuousClock.Instant = .now) -> Bool {
        last.withLock { last in
            if let last, last.time.duration(to: now) < .seconds(1) {
                return last.percent > threshold
            }
            guard let percent = percent(path) else { return false }
            last = Look(percent: percent, time: now)
            return percent > threshold
        }
    }
}
