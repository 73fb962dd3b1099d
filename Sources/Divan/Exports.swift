// SPDX-License-Identifier: Apache-2.0

// One import for apps: `import Divan` brings the database, the model's values (document IDs, revision
// IDs, revision trees), JSON values, the log and replications. The modules below stay separate so that the layering is
// checked by the compiler; nothing is declared here.
@_exported public import DivanDatabase
@_exported public import DivanDesign
@_exported public import DivanJSON
@_exported public import DivanLogging
@_exported public import DivanMaintenance
@_exported public import DivanModel
@_exported public import DivanQuery
@_exported public import DivanReplication
@_exported public import struct DivanStorage.StorageEngineFactory
