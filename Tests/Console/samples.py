# SPDX-License-Identifier: Apache-2.0
"""The data that tests put into a server: the same at each run."""
import base64
import random

from server import encoded

CITIES = [("Oslo", 59.9, 10.7), ("Lagos", 6.5, 3.4), ("Lima", -12.0, -77.0), ("Kyoto", 35.0, 135.8), ("Turin", 45.1, 7.7)]
WORDS = "lamp chair table sofa rug shelf vase clock mirror desk stool bench".split()
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def order(number, dice):
    city, latitude, longitude = CITIES[number % len(CITIES)]
    return {
        "_id": f"order-{number:05}", "type": "order", "customer": f"customer-{number % 20:03}", "item": WORDS[number % len(WORDS)],
        "quantity": dice.randrange(1, 9), "price": dice.randrange(500, 90000) / 100, "paid": number % 4 != 0,
        "date": f"2026-{number % 11 + 1:02}-{number % 27 + 1:02}T09:15:00Z",
        "place": {"city": city, "lat": latitude + dice.random(), "lon": longitude + dice.random()},
        "tags": dice.sample(WORDS, number % 4),
    }


def orders(server, count=600, name="orders", design=True):
    """Orders and customers; an index of customers, views of sales and a filter."""
    dice = random.Random(7)
    server.database(name, [order(number, dice) for number in range(count)])
    server.bulk(name, [{"_id": f"customer-{number:03}", "type": "customer", "name": f"Customer {number}",
                        "email": f"c{number}@example.org"} for number in range(20)])
    if design:
        server.post(encoded(name, "_index"), {"index": {"fields": ["customer", "date"]}, "ddoc": "by-customer", "name": "by-customer"})
        server.put(encoded(name, "_design/sales"), {
            "language": "javascript",
            "views": {
                "by_city": {"map": "function (doc) { if (doc.place) emit([doc.place.city, doc.item], doc.price * doc.quantity) }",
                            "reduce": "_stats"},
                "by_date": {"map": "function (doc) { if (doc.date) emit(doc.date.slice(0, 10).split('-').map(Number), doc.quantity) }",
                            "reduce": "_sum"}},
            "filters": {"paid": "function (doc, req) { return doc.paid === true }"}})
    return name


def conflict(server, database, id, sides, base=None):
    """A document with an ancestor and a leaf for each of `sides`, which are its contents; returns the revisions of the sides."""
    docs, revisions = _branches(id, sides, base if base is not None else {"title": "first"})
    server.bulk(database, docs, new_edits=False)
    return revisions


def conflicts(server, database, ids, sides, base):
    """Documents with the same conflict, as many by one request."""
    docs = [doc for id in ids for doc in _branches(id, sides, base)[0]]
    for start in range(0, len(docs), 3000):
        server.bulk(database, docs[start:start + 3000], new_edits=False)


def _branches(id, sides, base):
    first = "1-" + "a" * 32
    docs = [dict(base, _id=id, _rev=first, _revisions={"start": 1, "ids": ["a" * 32]})]
    revisions = []
    for number, content in enumerate(sides):
        hash = f"{number + 1:x}".rjust(32, "b")
        docs.append(dict(content, _id=id, _rev=f"2-{hash}", _revisions={"start": 2, "ids": [hash, "a" * 32]}))
        revisions.append(f"2-{hash}")
    return docs, revisions


def notes(server, count=60, conflicts=12, name="notes"):
    """Notes with a validator and a full-text index, of which the first ones have conflicts."""
    dice = random.Random(11)
    server.database(name, [
        {"_id": f"note-{number:03}", "type": "note", "title": " ".join(dice.sample(WORDS, 3)),
         "text": " ".join(dice.choice(WORDS) for _ in range(30)), "done": number % 2 == 0} for number in range(conflicts, count)])
    for number in range(conflicts):
        base = {"type": "note", "title": f"Note {number}", "text": "the first text", "done": False}
        conflict(server, name, f"note-{number:03}", [
            dict(base, title=f"Note {number} by Ann", edited="2026-11-02T10:00:00Z"),
            dict(base, done=True, edited="2026-11-03T10:00:00Z")], base)
    server.put(encoded(name, "_design/search"), {
        "indexes": {"text": {"analyzer": "standard", "index": "function (doc) { if (doc.text) index('default', doc.text, {store: true}) }"}},
        "validate_doc_update": "function (newDoc, oldDoc, userCtx) { if (newDoc.type === 'note' && !newDoc.title)"
                               " throw({forbidden: 'A note needs a title.'}) }"})
    return name


def stub(type, content):
    return {"content_type": type, "data": base64.b64encode(content).decode()}


def people(server, name="people"):
    """Documents with attachments, links to each other, long and right-to-left values."""
    return server.database(name, [
        {"_id": "ann", "name": "Ann", "friend": "bob", "born": 1990, "bio": "x" * 3000, "nested": {"a": [1, 2, {"b": [True, None]}]},
         "_attachments": {"photo.png": stub("image/png", PIXEL), "notes.txt": stub("text/plain", b"plain text\nof two lines")}},
        {"_id": "bob", "name": "Bob", "friend": "ann"},
        {"_id": "\u05e9\u05dc\u05d5\u05dd", "name": "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "rtl": True},
        {"_id": "a long name " + "without an end " * 10, "name": "Long"},
    ])
