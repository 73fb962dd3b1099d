// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import CScriptEngine

/// A context of the engine, which answers commands.
@safe
final class WorkerContext {
    // SAFETY: the context is made here, used by the one thread there is, and released with this object.
    private let context: OpaquePointer

    /// Makes a context; nil when the engine cannot run the prelude.
    ///
    /// - Parameter lines: The input and output, which live as long as the process.
    init?(_ lines: StandardLines) {
        // SAFETY: the lines outlive all contexts; the callback runs on this thread.
        let owner = unsafe Unmanaged.passUnretained(lines).toOpaque()
        guard let made = unsafe divan_javascript_make(exchange, owner) else { return nil }
        unsafe context = made
    }

    deinit { unsafe divan_javascript_release(context) }

    /// What the context answers to a line that ends in a zero; nil when memory is not enough.
    func answer(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        // SAFETY: the line ends in a zero; the text has `count` bytes and is freed here.
        var count = 0
        let text = unsafe line.withUnsafeBytes { bytes in
            unsafe divan_javascript_answer(
                context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), &count)
        }
        guard let text = unsafe text else { return nil }
        defer { unsafe free(text) }
        return unsafe Array(UnsafeRawBufferPointer(start: text, count: count))
    }
}

/// Writes lines for the engine, and returns the next one where it reads. It ends the process when there is none.
private func exchange(
    _ text: UnsafePointer<CChar>?, _ count: Int, _ next: divan_javascript_next,
    _ owner: UnsafeMutableRawPointer?
) -> UnsafeMutablePointer<CChar>? {
    // SAFETY: the text has so many bytes; the owner is the object that the context was made with; the line ends in a zero, and the
    // engine frees its copy.
    guard let owner = unsafe owner else { WorkerProgram.endFatally() }
    let lines = unsafe Unmanaged<StandardLines>.fromOpaque(owner).takeUnretainedValue()
    lines.write(unsafe Array(UnsafeRawBufferPointer(start: text, count: count)))
    lines.flush()
    if next == DIVAN_JAVASCRIPT_GOES_ON {
        lines.limitTime()
        return nil
    }
    guard next == DIVAN_JAVASCRIPT_READS, let line = lines.next() else {
        WorkerProgram.endFatally()
    }
    return unsafe line.withUnsafeBytes { bytes in
        unsafe bytes.baseAddress.flatMap { unsafe strdup($0.assumingMemoryBound(to: CChar.self)) }
    }
}
