// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanListener

/// What owners, and names of one, have of a pool's threads.
@Suite(.timeLimit(.minutes(5))) struct TurnPoolTests {
    @Test func `a name has its part of its owner's threads, and an owner of all`() {
        let pool = TurnPool("test", width: 6, mostOfOne: 3, mostOfName: 2)
        let (gate, done, begun) = (Gate(), DispatchGroup(), Record<String>())
        func run(_ owner: String, _ name: String) {
            done.enter()
            pool.run(for: Turn(owner: owner, name: name)) {
                begun.append(owner + name)
                gate.wait()
                done.leave()
            }
        }
        for turn in ["ax", "ax", "ax", "ay", "ay", "bx", "bx", "bx"] {
            run(String(turn.prefix(1)), String(turn.suffix(1)))
        }
        // A thread is left, and for none of those that wait.
        #expect(eventually { begun.all.count == 5 })
        #expect(begun.all.sorted() == ["ax", "ax", "ay", "bx", "bx"])
        run("b", "y")
        #expect(eventually { begun.all.count == 6 })
        #expect(begun.all.last == "by")
        gate.open()
        done.wait()
        #expect(begun.all.count == 9)
    }

    @Test(arguments: [(2, 1), (3, 2), (2, .max), (.max, 1), (.max, .max)])
    func `whatever the limits are, all work is done and none is passed`(
        mostOfOne: Int, mostOfName: Int
    ) {
        let pool = TurnPool("test", width: 4, mostOfOne: mostOfOne, mostOfName: mostOfName)
        let (done, ran) = (DispatchGroup(), Counter())
        let running = Mutex<[String: Int]>([:])
        /// The most that was at work at once, by the number of letters: of all, an owner, a name.
        let highest = Mutex([0, 0, 0])
        let count = 3_000
        for number in 0..<count {
            let (owner, name) = (["a", "b", "c"][number % 3], ["x", "y"][number / 5 % 2])
            done.enter()
            pool.run(for: Turn(owner: owner, name: name)) {
                for key in ["", owner, owner + name] {
                    let now = running.withLock { running in
                        running[key, default: 0] += 1
                        return running[key] ?? 0
                    }
                    highest.withLock { $0[key.utf8.count] = max($0[key.utf8.count], now) }
                }
                ran.add()
                for key in ["", owner, owner + name] { running.withLock { $0[key]? -= 1 } }
                done.leave()
            }
        }
        done.wait()
        #expect(ran.value == count)
        let most = highest.withLock { $0 }
        #expect(most[0] <= 4 && most[1] <= mostOfOne && most[2] <= mostOfName, "\(most)")
    }
}
