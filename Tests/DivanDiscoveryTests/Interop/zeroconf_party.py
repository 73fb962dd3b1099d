#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Announces or finds services by python-zeroconf, until it is asked to end.

    zeroconf_party.py register TYPE NAME PORT ADDRESS KEY=VALUE …    says `registered NAME`
    zeroconf_party.py browse TYPE                                    says `+` or `-` and the name, for a new or changed one also
                                                                     port, addresses and text

Words are parted by tabs.
"""

import signal
import sys
import threading

import zeroconf


def say(*words):
    print("\t".join(words), flush=True)


def register(server, kind, name, port, address, *text):
    info = zeroconf.ServiceInfo(
        kind,
        f"{name}.{kind}",
        port=int(port),
        properties=dict(pair.split("=", 1) for pair in text),
        server="zeroconf-party.local.",
        parsed_addresses=[address],
    )
    server.register_service(info, allow_name_change=True)
    say("registered", info.name.removesuffix("." + kind))


def browse(server, kind):
    def changed(zeroconf, service_type, name, state_change):
        short = name.removesuffix("." + kind)
        if state_change.name == "Removed":
            say("-", short)
            return
        # In a thread, since asking for what is missing waits for answers.
        threading.Thread(target=tell, args=(zeroconf, name, short), daemon=True).start()

    def tell(server, name, short):
        info = server.get_service_info(kind, name, timeout=10000)
        if info:
            text = (f"{key.decode()}={(value or b'').decode()}" for key, value in info.properties.items())
            say("+", short, str(info.port), ",".join(info.parsed_addresses()), *text)

    zeroconf.ServiceBrowser(server, kind, handlers=[changed])


ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
server = zeroconf.Zeroconf(ip_version=zeroconf.IPVersion.All)
{"register": register, "browse": browse}[sys.argv[1]](server, sys.argv[2] + ".local.", *sys.argv[3:])
ended.wait()
server.close()
