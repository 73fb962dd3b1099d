// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite struct SystemErrorTests {
    @Test func `an error tells the call, the file and the reason`() {
        let error = SystemError("open", "/a", number: ENOENT)
        #expect(error.description == "open failed on '/a': No such file or directory")
    }

    @Test func `an error of the last call takes its number`() {
        errno = EACCES
        #expect(SystemError("open", "/a") == SystemError("open", "/a", number: EACCES))
    }

    @Test(arguments: [
        (ENOENT, "missing"), (ENOTDIR, "missing"), (EEXIST, "existing"), (ENOSPC, "full"),
        (EDQUOT, "full"), (EROFS, "refused"), (EACCES, "refused"), (EMLINK, "linkless"),
        (EBADMSG, "damage"), (EADDRINUSE, "taken"), (EIO, ""),
    ])
    func `a number has one kind`(_ number: Int32, _ kind: String) {
        let error = SystemError("call", "path", number: number)
        var kinds: [String] = []
        if error.isMissing { kinds.append("missing") }
        if error.isExisting { kinds.append("existing") }
        if error.isFull { kinds.append("full") }
        if error.isRefused { kinds.append("refused") }
        if error.isWithoutLinks { kinds.append("linkless") }
        if error.isDamage { kinds.append("damage") }
        if error.isAddressInUse { kinds.append("taken") }
        #expect(kinds.joined() == kind)
    }
}
