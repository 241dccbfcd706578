"""Where a host leads: an address of the internet, or one that a stranger's link must not reach."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from core.errors import UsersMove

_INTERNET = IPv6Network("2000::/3")
"""The IPv6 addresses of the internet. Others are local, or a gateway turns them into IPv4 ones, also private ones:
64:ff9b::/96, 64:ff9b:1::/48, ::ffff:0:0:0/96."""


def address_of(host: str, port: int, *, may_be_private: bool) -> str:
    """One address of a host, to be used instead of its name from here on: a second answer may be another one.

    Raises UsersMove when there is none, or when any of them is private and that is not allowed.
    """
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsersMove("repository_not_reached", host=host) from error
    found = list(dict.fromkeys(str(answer[4][0]).partition("%")[0] for answer in answers))
    if not found:
        raise UsersMove("repository_not_reached", host=host)
    if not may_be_private and not all(map(is_public, found)):
        raise UsersMove("repository_private", host=host)
    return found[0]


def is_public(address: str) -> bool:
    """Whether an address is one of the internet, whatever it is wrapped in."""
    found: IPv4Address | IPv6Address = ip_address(address)
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if found.sixtofour is not None or found.teredo is not None or found not in _INTERNET:
            return False
    return found.is_global and not found.is_multicast
