#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the workloads of the Yahoo! Cloud Serving Benchmark on a database that a Python package brings.

    peer.py apsw|rocksdict|duckdb WORK INPUT DIRECTORY OPERATIONS

It reads the files that BenchmarkInput writes, and prints one line of JSON as Floor/main.c does. What the interpreter takes
counts, too: a request that does nothing takes it less than a microsecond.
"""

import json
import mmap
import struct
import sys
import time

ID_LENGTH, FIELD_LENGTH = 36, 100
READ, UPDATE, INSERT, SCAN, READ_AND_UPDATE = range(5)


class Input:
    """The documents, mapped."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (self.count,) = struct.unpack_from("<Q", self.bytes, 0)
        self.ids = 8 + 8 * (self.count + 1)
        self.texts = self.ids + ID_LENGTH * self.count

    def id(self, index):
        start = self.ids + ID_LENGTH * index
        return self.bytes[start : start + ID_LENGTH]

    def text(self, index):
        start, end = struct.unpack_from("<QQ", self.bytes, 8 + 8 * index)
        return self.bytes[self.texts + start : self.texts + end]


# MARK: - Databases

class SQL:
    """What the two that speak SQL share: a table of ID and text, and a commit for each write."""

    share = 1

    def run(self, statement, values=()):
        return self.database.execute(statement, values)

    def put(self, name, text):
        self.run("INSERT INTO docs VALUES (?, ?) ON CONFLICT (docid) DO UPDATE SET body = excluded.body",
                 (name.decode(), text.decode()))

    def fill(self, documents):
        self.run("BEGIN")
        for number, (name, text) in enumerate(documents, 1):
            self.run("INSERT INTO docs VALUES (?, ?)", (name.decode(), text.decode()))
            if number % 1000 == 0:
                self.run("COMMIT")
                self.run("BEGIN")
        self.run("COMMIT")

    def get(self, name):
        return self.rows("SELECT body FROM docs WHERE docid = ?", (name.decode(),))[0][0].encode()

    def scan(self, name, count):
        select = "SELECT body FROM docs WHERE docid >= ? ORDER BY docid LIMIT ?"
        return [row[0].encode() for row in self.rows(select, (name.decode(), count))]

    def close(self):
        self.database.close()


class APSW(SQL):
    """SQLite as the package has it, with the plain floor's settings."""

    def __init__(self, folder):
        import apsw

        self.database = apsw.Connection(folder + "/peer.sqlite3")
        self.database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
        self.run("CREATE TABLE IF NOT EXISTS docs (docid TEXT PRIMARY KEY, body TEXT)")

    def rows(self, statement, values):
        return self.run(statement, values).fetchall()


class DuckDB(SQL):
    """DuckDB, made for analysis. Its commits wait for the disk: it has no setting for less. A tenth of the requests is enough."""

    share = 0.1

    def __init__(self, folder):
        import duckdb

        self.database = duckdb.connect(folder + "/peer.duckdb", config={"threads": 1})
        self.run("CREATE TABLE IF NOT EXISTS docs (docid VARCHAR PRIMARY KEY, body VARCHAR)")

    def rows(self, statement, values):
        return self.run(statement, values).fetchall()


class RocksDB:
    """RocksDB with its own settings but for bytes as keys and values; a write is in the log, and not waited for."""

    share = 1

    def __init__(self, folder):
        import rocksdict

        self.database = rocksdict.Rdict(folder + "/peer.rocks", rocksdict.Options(raw_mode=True))
        self.batch = rocksdict.WriteBatch

    def put(self, name, text):
        self.database[name] = text

    def fill(self, documents):
        batch = self.batch(raw_mode=True)
        for number, (name, text) in enumerate(documents, 1):
            batch.put(name, text)
            if number % 1000 == 0:
                self.database.write(batch)
                batch = self.batch(raw_mode=True)
        self.database.write(batch)

    def get(self, name):
        return self.database[name]

    def scan(self, name, count):
        found = []
        cursor = self.database.iter()
        cursor.seek(name)
        while len(found) < count and cursor.valid():
            found.append(cursor.value())
            cursor.next()
        return found

    def close(self):
        self.database.close()


DATABASES = {"apsw": APSW, "rocksdict": RocksDB, "duckdb": DuckDB}


# MARK: - Requests

def length_of_field(text, number):
    name = b'"field%d":"' % number
    start = text.index(name) + len(name)
    return text.index(b'"', start) - start


def update(database, name, field, number):
    text = database.get(name)
    label = b'"field%d":"' % field
    start = text.index(label) + len(label)
    value = bytes([ord("a") + number % 26]) * FIELD_LENGTH
    database.put(name, text[:start] + value + text[start + FIELD_LENGTH :])
    return len(text)


def answer(database, documents, requests):
    total = 0
    for number, (kind, field, count, record) in enumerate(requests):
        name = documents.id(record)
        if kind in (READ, READ_AND_UPDATE):
            total += length_of_field(database.get(name), field)
        if kind in (UPDATE, READ_AND_UPDATE):
            total += update(database, name, field, number)
        elif kind == INSERT:
            database.put(name, documents.text(record))
        elif kind == SCAN:
            total += sum(length_of_field(text, field) for text in database.scan(name, count))
    return total


def main():
    name, work, path, folder, operations = sys.argv[1:]
    operations = int(operations)
    documents, database = Input(path), DATABASES[name](folder)
    if work == "insert_batch":
        done = lambda: database.fill((documents.id(number), documents.text(number)) for number in range(operations))
    else:
        with open(f"{path}.requests-{work}", "rb") as file:
            requests = list(struct.iter_unpack("<BBHI", file.read()))
        operations = max(1, int(operations * database.share))
        requests = requests[:operations]
        done = lambda: answer(database, documents, requests)
    cpu, wall = time.process_time(), time.perf_counter()
    result = done()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    database.close()
    print(json.dumps({"operations": operations, "cpu": cpu, "wall": wall, "result": result or 0}))


main()
