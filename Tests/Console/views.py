# SPDX-License-Identifier: Apache-2.0
"""Every view of the console, with an address at which the samples give it something to show."""
import json
import urllib.parse

import samples
from case import has_view

def asked(question, **more):
    """The address of a question of the sample database, which runs when it is opened."""
    return "#/db/orders/ask?" + urllib.parse.urlencode({"q": json.dumps(question), **more})


VIEWS = [
    ("overview", "#/", ["overview"]),
    ("documents", "#/db/orders/docs", ["documents"]),
    ("document", "#/db/people/doc/ann", ["document"]),
    ("history", "#/db/notes/doc/note-001/history", ["history"]),
    ("conflicts", "#/db/notes/conflicts", ["conflicts"]),
    ("ask", "#/db/orders/ask", ["ask"]),
    ("ask-table", asked({"selector": {"type": "order", "quantity": {"$gt": 5}}}), ["ask"]),
    ("ask-chart", asked({"view": "sales/by_city", "level": "1"}, mode="view", **{"as": "chart"}), ["ask"]),
    ("ask-map", asked({"selector": {"type": "order"}, "limit": 200}, **{"as": "map"}), ["ask"]),
    ("server-log", "#/server?part=log", ["server"]),
    ("indexes", "#/db/orders/indexes", ["indexes"]),
    ("live", "#/db/orders/live", ["live"]),
    ("storage", "#/db/people/storage", ["storage"]),
    ("database-access", "#/db/orders/access", ["database-access"]),
    ("sync", "#/sync", ["sync"]),
    ("sync-new", "#/sync/new", ["sync-new"]),
    ("sync-job", "#/sync/job/copy-notes", ["sync-job"]),
    ("access", "#/access", ["access"]),
    ("server", "#/server", ["server"]),
    ("documents-empty", "#/db/empty/docs", ["documents"]),
    ("document-missing", "#/db/people/doc/nobody", ["document"]),
]


def shown_views():
    """Name and address of each view that is there."""
    return [(name, hash) for name, hash, files in VIEWS if has_view(*files)]


def seed(server):
    """What the addresses above need."""
    samples.orders(server, 300)
    samples.notes(server, 40, conflicts=6)
    samples.people(server)
    server.database("empty")
    for id, source, target in (("copy-notes", "notes", "notes-copy"), ("once", "people", "people-copy")):
        server.post("/_replicator", {"_id": id, "source": f"{server.url}/{source}", "target": f"{server.url}/{target}",
                                     "create_target": True, "continuous": id == "copy-notes"})
    server.post("/_replicator", {"_id": "broken", "source": "http://127.0.0.1:1/none", "target": f"{server.url}/notes-copy"})
