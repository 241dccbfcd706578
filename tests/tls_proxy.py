"""TLS in front of a server that speaks none, with a certificate of the test's own."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "127.0.0.1"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "threadbook test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    places = folder / "tls.crt", folder / "tls.key"
    places[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    places[1].write_bytes(private)
    return places


@contextmanager
def tls_in_front_of(unix_socket: str, folder: Path) -> Iterator[tuple[int, Path]]:
    """Yields a port that takes TLS for this unix socket, and the certificate to trust."""
    trusted, key = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, key)
    with socket.create_server((HOST, 0)) as listener:
        threading.Thread(target=_serve, args=(listener, context, unix_socket), daemon=True).start()
        yield listener.getsockname()[1], trusted


def _serve(listener: socket.socket, context: ssl.SSLContext, unix_socket: str) -> None:
    with suppress(OSError):  # the listener is closed at the end
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=_carry, args=(plain, context, unix_socket), daemon=True).start()


def _carry(plain: socket.socket, context: ssl.SSLContext, unix_socket: str) -> None:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as server, _wrapped(plain, context) as wrapped:
        server.connect(unix_socket)
        back = threading.Thread(target=_copy, args=(server, wrapped), daemon=True)
        back.start()
        _copy(wrapped, server)
        server.shutdown(socket.SHUT_RDWR)
        back.join()


def _wrapped(plain: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
    with plain:  # a client that trusts nobody ends the handshake
        return context.wrap_socket(plain, server_side=True)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
