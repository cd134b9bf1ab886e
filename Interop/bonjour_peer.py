"""Python's zeroconf as a peer, and dnspython as one who knows nothing of Multicast DNS. Writes an
object a line:

    bonjour_peer.py browse TYPE
    bonjour_peer.py publish NAME TYPE PORT ADDRESS [KEY=VALUE ...]
    bonjour_peer.py ask NAME RECORD_TYPE
"""

import json
import signal
import socket
import sys
import threading

import dns.message
import dns.query
import zeroconf


def tell(**members):
    print(json.dumps(members), flush=True)


def text(info):
    return {key.decode(): value and value.decode() for key, value in info.properties.items()}


class Listener(zeroconf.ServiceListener):
    def add_service(self, zc, type_, name):
        info = zc.get_service_info(type_, name, timeout=30_000)
        tell(event="found", name=name, host=info and info.server, port=info and info.port,
             addresses=sorted(info.parsed_addresses()) if info else [],
             text=text(info) if info else {})

    def update_service(self, zc, type_, name):
        # None where it is gone by now, which is told next.
        if info := zc.get_service_info(type_, name, timeout=1000):
            tell(event="changed", name=name, text=text(info))

    def remove_service(self, zc, type_, name):
        tell(event="gone", name=name)


def browse(type_):
    with zeroconf.Zeroconf(ip_version=zeroconf.IPVersion.All) as zc:
        zeroconf.ServiceBrowser(zc, type_ + ".local.", Listener())
        threading.Event().wait()


def publish(name, type_, port, address, *pairs):
    info = zeroconf.ServiceInfo(
        f"{type_}.local.", f"{name}.{type_}.local.", port=int(port), server="zeroconf.local.",
        addresses=[socket.inet_aton(address)],
        properties=dict(pair.split("=", 1) for pair in pairs))
    with zeroconf.Zeroconf(ip_version=zeroconf.IPVersion.All) as zc:
        zc.register_service(info, allow_name_change=True)
        tell(event="published", name=info.name)
        threading.Event().wait()


def ask(name, type_):
    question = dns.message.make_query(name, type_)
    question.flags = 0
    answer = dns.query.udp(
        question, "224.0.0.251", port=5353, timeout=50, ignore_unexpected=True)
    tell(id_is_same=answer.id == question.id, questions=[str(q) for q in answer.question],
         answers=[str(rrset) for rrset in answer.answer],
         ttl=max(rrset.ttl for rrset in answer.answer))


# To be asked to end is no reason to leave without a goodbye.
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
{"browse": browse, "publish": publish, "ask": ask}[sys.argv[1]](*sys.argv[2:])
