// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A body that came as gzip, decoded as it is asked for.
final class InflatedSource: HTTPBodySource {
    private let source: any HTTPBodySource
    // The mutex only satisfies the compiler: one task at a time asks for a piece.
    private let inflater: Mutex<GzipInflater>

    init(_ source: any HTTPBodySource, limits: GzipInflater.Limits) {
        self.source = source
        inflater = Mutex(GzipInflater(limits: limits))
    }

    func next() async throws -> [UInt8]? {
        while true {
            if let piece = try decode({ try $0.next() }) { return piece }
            guard let more = try await source.next() else {
                try decode { try $0.finish() }
                return nil
            }
            try decode { $0.push(more) }
        }
    }

    private func decode<T: Sendable>(_ step: (GzipInflater) throws -> T) throws -> T {
        try inflater.withLock { inflater in
            do { return try step(inflater) } catch let failure as GzipInflater.Failure {
                throw HTTPError.gzip(failure)
            }
        }
    }
}
