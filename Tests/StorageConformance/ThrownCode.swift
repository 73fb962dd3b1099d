// SPDX-License-Identifier: Apache-2.0

public import DivanStorage

extension StorageError.Code {
    /// The code of the storage error that a closure throws; nil when it throws none.
    ///
    /// - Parameter body: What is expected to fail.
    public static func thrown(by body: () throws -> Void) -> StorageError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StorageError)?.code
        }
    }
}
