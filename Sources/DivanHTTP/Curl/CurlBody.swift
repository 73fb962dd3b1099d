// SPDX-License-Identifier: Apache-2.0

/// The body of an answer that libcurl brings. Its end, and the end of its last reference, ends the transfer.
final class CurlBody: HTTPBodySource {
    private let transfer: CurlTransfer
    private let loop: CurlLoop
    private let upload: Task<Void, Never>?
    /// Kept open for as long as the body may be read.
    private let transport: CurlTransport

    init(
        _ transfer: CurlTransfer, _ loop: CurlLoop, of transport: CurlTransport,
        upload: Task<Void, Never>?
    ) {
        self.transport = transport
        self.transfer = transfer
        self.loop = loop
        self.upload = upload
    }

    deinit { cancel() }

    func next() async throws -> [UInt8]? {
        try Task.checkCancellation()
        return try await withTaskCancellationHandler {
            try await transfer.nextPiece { loop.post(.resume(transfer)) }
        } onCancel: {
            cancel()
        }
    }

    /// Ends the transfer, if it has not ended.
    func cancel() {
        upload?.cancel()
        if transfer.finish(.failure(CancellationError())) { loop.post(.remove(transfer)) }
    }
}
