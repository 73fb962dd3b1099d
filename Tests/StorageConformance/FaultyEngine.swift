// SPDX-License-Identifier: Apache-2.0

public import DivanStorage

/// An engine that fails where a plan says, and otherwise does what the engine inside does.
///
/// A failing commit fails as a real one does: nothing of the transaction stays. After every commit the
/// engine calls `didCommit`, where a test copies the files to get the image of a crash at that moment.
public final class FaultyEngine: StorageEngine {
    /// The engine's name in manifests and messages.
    public static let identifier = "faulty"

    private let inside: any StorageEngine
    private let plan: FaultPlan
    private let didCommit: @Sendable () -> Void

    /// Wraps an engine.
    public init(
        _ inside: any StorageEngine, plan: FaultPlan,
        didCommit: @escaping @Sendable () -> Void = {}
    ) {
        self.inside = inside
        self.plan = plan
        self.didCommit = didCommit
    }

    /// Returns the handle of a store. See `StorageEngine`.
    public func store(_ name: StoreName) -> Store {
        inside.store(name)
    }

    /// Returns the name of a handle that this engine gave. See `StorageEngine`.
    public func name(of store: Store) -> StoreName {
        inside.name(of: store)
    }

    /// Runs `body` in a snapshot. See `StorageEngine`.
    public func read(_ body: (any StorageReader) throws -> Void) throws {
        try inside.read { (reader: any StorageReader) throws -> Void in try body(reader) }
    }

    /// Whether the calling thread is inside `read`.
    public var isReadByCurrentThread: Bool { inside.isReadByCurrentThread }

    /// Runs `body` as the writer, and commits when it returns. See `StorageEngine`.
    public func write(durably: Bool, _ body: (any StorageWriter) throws -> Void) throws {
        try inside.write(durably: durably) { (writer: any StorageWriter) throws -> Void in
            try body(FaultyWriter(writer, plan: plan))
            try plan.reach("commit")
        }
        didCommit()
    }

    /// True, so that writes of several threads meet the faults of a commit that they share.
    public var commitsWaitForDisk: Bool { true }

    /// Makes every commit acknowledged so far survive a power loss. See `StorageEngine`.
    public func sync() throws {
        try plan.reach("sync")
        try inside.sync()
    }

    /// Returns the bytes the engine occupies on disk; 0 in memory. See `StorageEngine`.
    public func diskSize() throws -> Int {
        try inside.diskSize()
    }

    /// Returns the bytes that hold something. See `StorageEngine`.
    public func usedSize() throws -> Int {
        try inside.usedSize()
    }

    /// Gives unused space back to the file system. See `StorageEngine`.
    public func compact(progress: StorageProgressHandler?) throws -> Int {
        try plan.reach("compact")
        return try inside.compact(progress: progress)
    }

    /// Copies one snapshot into an empty or missing directory. See `StorageEngine`.
    public func copy(to directory: String, progress: StorageProgressHandler?) throws {
        try plan.reach("copy")
        try inside.copy(to: directory, progress: progress)
    }

    /// Checks the engine's structure and the checksum of every value. See `StorageEngine`.
    public func verifyStructure(progress: StorageProgressHandler?) throws -> [String] {
        try inside.verifyStructure(progress: progress)
    }

    /// Gives up every lock and connection. See `StorageEngine`.
    public func suspend() throws {
        try inside.suspend()
    }

    /// Takes up again after `suspend()`. See `StorageEngine`.
    public func resume() throws {
        try inside.resume()
    }

    /// Waits for the transactions that are running and closes. See `StorageEngine`.
    public func close() {
        inside.close()
    }
}
