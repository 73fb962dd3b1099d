// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import DivanDatabase
public import DivanJSON
public import DivanListener
internal import DivanLogging
internal import DivanSystem
public import FoundationEssentials
internal import Synchronization

/// This device among others: its key, its name, and the devices that it is paired with.
///
/// ```swift
/// let device = try PeerDevice(manager, name: "Ann's laptop")
/// var options = ListenerOptions()
/// options.host = "0.0.0.0"
/// options.device = device
/// let listener = Listener(manager, options)
/// try listener.start()
/// print(try QRCode(listener.link(for: notes).text).terminal())
/// ```
///
/// The key lies in `listener.pem` beside the databases, and is made once; the peers lie in `peers.json`. Both are readable by
/// their owner only. Programs that use the same directory see each other's changes within a second.
///
/// A device that is revoked is refused by the listener at its next request, and what it was being sent ends. What it has
/// received before stays with it.
///
/// ## State
/// `state`, guarded by its mutex: the file as it was last read, the open links, the pairings, and who follows.
public final class PeerDevice: Sendable {
    struct State {
        var file: PeersFile
        var stamp: PeersFile.Stamp?
        var offers = PairingOffers()
        var followers: [Int: AsyncStream<[PairedPeer]>.Continuation] = [:]
        var nextFollower = 0
        var runningSyncs = 0
        weak var sync: (any SynchronisingPeers)?
        var pairings = FollowedPairings()
        var timer: (any DispatchSourceTimer)?
    }

    /// What tells it from others: 32 hexadecimal digits made of its key.
    public let id: String
    /// The key and the certificate that it shows others.
    public let identity: ListenerTLS
    let path: String
    let state: Mutex<State>
    let throttle = PasswordThrottle(ListenerLimits())
    /// How often a file that another program may have changed is looked at while the peers are followed.
    static let pollInterval = 0.5

    /// The device of the directory of a manager.
    ///
    /// - Parameters:
    ///   - manager: The manager whose databases it shares.
    ///   - name: What other devices show; the former name unless given, or "Divan".
    /// - Throws: `PeerError` with code `.invalidValue` for a name that is none, or `.storage`.
    public convenience init(_ manager: Manager, name: String? = nil) throws {
        try self.init(keptIn: manager.directory, name: name)
    }

    /// The device of a directory.
    ///
    /// - Parameters:
    ///   - directory: Where its key and its peers are kept; it exists.
    ///   - name: As above.
    /// - Throws: As above.
    public init(keptIn directory: URL, name: String? = nil) throws {
        let key = directory.appending(path: "listener.pem")
        let hadKey = Files.exists(key.path(percentEncoded: false))
        do {
            identity = try .selfSigned(keptAt: key)
        } catch let error as DatabaseError { throw PeerError(.storage, error.message) }
        id = PeerKey.id(of: identity.keyDigest)
        path = directory.appending(path: "peers.json").path(percentEncoded: false)
        let stamp = Files.stamp(of: path)
        let file = try PeersFile.load(path)
        state = Mutex(State(file: file, stamp: stamp))
        if !hadKey, !file.peers.isEmpty {
            Log.replication.warning(
                "The file 'listener.pem' is gone, so this device has a new key and is '\(id)' now, which its "
                    + "\(file.peers.count) peers do not know; put the file back, or pair them again."
            )
        }
        if let name { try rename(to: name) }
    }

    /// What other devices show of it.
    public var name: String { state.withLock { $0.file.name } ?? "Divan" }

    /// Gives it another name, which devices that are paired later show.
    ///
    /// - Throws: `PeerError` with code `.invalidValue` for a name that is none, or `.storage`.
    public func rename(to name: String) throws(PeerError) {
        guard PairedPeer.isName(name) else { throw .invalidName }
        guard !name.hasSameBytes(as: state.withLock { $0.file.name }) else { return }
        try change { file throws(PeerError) in file.name = name }
    }

    // MARK: - Peers

    /// The devices that it is paired with, in the order of pairing.
    public var peers: [PairedPeer] {
        refresh()
        return state.withLock { $0.file.peers }
    }

    /// Gives a peer another name here.
    ///
    /// - Parameters:
    ///   - id: The peer.
    ///   - name: The name.
    /// - Throws: `PeerError` with code `.invalidValue` for a name that is none, `.unknownPeer`, or `.storage`.
    public func rename(peer id: String, to name: String) throws(PeerError) {
        try change(peer: id, name: name)
    }

    /// Sets which databases are shared with a peer. It is refused the others from its next request on.
    ///
    /// - Parameters:
    ///   - databases: Their names.
    ///   - id: The peer.
    /// - Throws: `PeerError` with code `.unknownPeer`, `.invalidValue` for a name of no database of the app, or `.storage`.
    public func share(_ databases: NameSet, withPeer id: String) throws(PeerError) {
        try change(peer: id, databases: databases)
    }

    /// Changes what is not nil of a peer.
    func change(
        peer id: String, name: String? = nil, databases: NameSet? = nil
    ) throws(PeerError) {
        if let name, !PairedPeer.isName(name) { throw .invalidName }
        for name in databases ?? [] where !PairedPeer.isShareable(name) {
            throw .unshareable(name)
        }
        try change { file throws(PeerError) in
            guard let place = file.peers.firstIndex(where: { $0.id == id }) else {
                throw .unknownPeer(id)
            }
            if let name { file.peers[place].name = name }
            if let databases { file.peers[place].databases = databases }
        }
    }

    /// Ends the pairing with a device: it is refused from now on. It can be paired again by a new link; those that were shown
    /// before are withdrawn, and a pairing that is under way with any device comes to nothing, also in another program.
    ///
    /// - Parameter id: The peer.
    /// - Throws: `PeerError` with code `.unknownPeer` or `.storage`.
    public func revoke(_ id: String) throws(PeerError) {
        try change { file throws(PeerError) in
            guard let place = file.peers.firstIndex(where: { $0.id == id }) else {
                throw .unknownPeer(id)
            }
            file.peers.remove(at: place)
            file.revocations = file.revocations.addingSaturated(1)
        }
        withdrawLinks()
    }

    /// How many devices were revoked, by this program or another.
    var revocations: Int64 {
        refresh()
        return state.withLock { $0.file.revocations }
    }

    /// Ends all links that this program has shown, and the pairings that are not done.
    public func withdrawLinks() {
        state.withLock {
            $0.offers.removeAll()
            $0.pairings.withdraw()
        }
    }

    /// The devices that it is paired with: at once, and again each time that one is paired, renamed, revoked, or reached at an address
    /// that is new, by this program or another. A reader that is slow is given the newest list. The sequence ends when its task is cancelled.
    public func peerChanges() -> AsyncStream<[PairedPeer]> {
        let (stream, continuation) = AsyncStream<[PairedPeer]>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        refresh()
        state.withLock { state in
            state.nextFollower += 1
            let number = state.nextFollower
            // The sequence holds the device for as long as it is read. Its end comes with a lock of its task, which a `yield` under
            // the mutex takes, too; so the mutex is taken elsewhere.
            continuation.onTermination = { _ in
                DispatchQueue.global().async { self.endFollowing(number) }
            }
            state.followers[number] = continuation
            continuation.yield(state.file.peers)
            guard state.timer == nil else { return }
            let timer = DispatchSource.makeTimerSource()
            timer.schedule(
                deadline: .now() + Self.pollInterval, repeating: Self.pollInterval,
                leeway: .milliseconds(100))
            timer.setEventHandler { [weak self] in self?.refresh() }
            timer.resume()
            state.timer = timer
        }
        return stream
    }

    private func endFollowing(_ number: Int) {
        state.withLock { state in
            state.followers[number] = nil
            guard state.followers.isEmpty else { return }
            state.timer?.cancel()
            state.timer = nil
        }
    }

    // MARK: - The file

    /// Reads the file anew if another program has changed it.
    ///
    /// One that is malformed leaves no device paired until it is mended: a device that was revoked in it must not come in.
    func refresh() {
        state.withLock { state in
            let stamp = Files.stamp(of: path)
            guard stamp != state.stamp else { return }
            do { set(try PeersFile.load(path), stamp, &state) } catch {
                // Looked at again at the next request: the process may only lack a descriptor now. Told once.
                if state.stamp != nil {
                    Log.listener.error("No paired device is let in: \(error)")
                }
                set(PeersFile(name: state.file.name, port: state.file.port), nil, &state)
            }
        }
    }

    func change<T>(_ change: (inout PeersFile) throws(PeerError) -> T) throws(PeerError) -> T {
        // Not in the mutex: another program may hold the lock of the file for a while.
        let result = try PeersFile.change(path, change)
        // Not what was written here: another change may have come since, such as a revocation.
        refresh()
        return result
    }

    private func set(_ file: PeersFile, _ stamp: PeersFile.Stamp?, _ state: inout State) {
        let isChanged = file.peers != state.file.peers
        state.file = file
        state.stamp = stamp
        guard isChanged else { return }
        for follower in state.followers.values { follower.yield(file.peers) }
    }
}
