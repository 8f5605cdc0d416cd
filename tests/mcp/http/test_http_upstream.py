"""The connection to the upstream: TLS is checked, and a connection is used again while it can be."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from steno.mcp.http import headers
from steno.mcp.http.connection import Protocol, Upstream, UpstreamError

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def _certificate(folder: Path) -> Path:
    """For 127.0.0.1, signed by itself; with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


@asynccontextmanager
async def _serving(
    tls: ssl.SSLContext | None, seen: list[int], answer: bytes = _ANSWER
) -> AsyncIterator[asyncio.Server]:
    """Until everybody who came has left."""
    served: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(0)
        while await reader.read(65536):
            seen[-1] += 1
            writer.write(answer)
            if b"close" in answer:
                break
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.create_task(serve(reader, writer)))

    async with await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls) as server:
        yield server
    await asyncio.gather(*served)


def _endpoint(server: asyncio.Server, scheme: str) -> headers.Endpoint:
    return headers.upstream_endpoint(f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")


def test_a_certificate_that_nobody_trusts_is_refused_and_a_trusted_one_is_not(tmp_path: Path) -> None:
    certificate = _certificate(tmp_path)
    inside = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    inside.load_cert_chain(certificate)

    async def run() -> bytes:
        async with _serving(inside, []) as server:
            endpoint = _endpoint(server, "https")
            with pytest.raises(UpstreamError, match="CERTIFICATE_VERIFY_FAILED"):
                await Upstream(endpoint, endpoint.tls()).ask(b"GET", [], b"")
            trusted = endpoint.tls()
            assert trusted is not None
            trusted.load_verify_locations(certificate)
            upstream = Upstream(endpoint, trusted)
            await upstream.ask(b"GET", [], b"")
            body = await upstream.whole()
            upstream.leave()
            return body

    assert asyncio.run(run()) == b"ok"


@pytest.mark.parametrize(
    ("answer", "requests"),
    [(_ANSWER, [2]), (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", [1, 1])],
)
def test_a_connection_is_used_again_unless_the_upstream_closes_it(answer: bytes, requests: list[int]) -> None:
    async def run() -> list[int]:
        seen: list[int] = []
        async with _serving(None, seen, answer) as server:
            upstream = Upstream(_endpoint(server, "http"), None)
            for _ in range(2):
                await upstream.ask(b"GET", [], b"")
                assert await upstream.whole() == b"ok"
                upstream.answered()
            upstream.leave()
        return seen

    assert asyncio.run(run()) == requests


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nok"]
)
def test_what_is_no_whole_answer_is_the_end_of_the_upstream(answer: bytes) -> None:
    async def run() -> None:
        async with _serving(None, [], answer) as server:
            upstream = Upstream(_endpoint(server, "http"), None)
            with pytest.raises(UpstreamError):
                await _asked(upstream)
            upstream.leave()

    asyncio.run(run())


async def _asked(upstream: Upstream) -> bytes:
    await upstream.ask(b"GET", [], b"")
    return await upstream.whole()


def test_what_came_before_a_connection_broke_is_read() -> None:
    async def run() -> bytes:
        protocol = Protocol()
        protocol.data_received(_ANSWER)
        protocol.connection_lost(ConnectionResetError())
        return await protocol.reader.read()

    assert asyncio.run(run()) == _ANSWER
