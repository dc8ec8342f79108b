"""Certificates: the right one, the wrong one, and files that are none."""

import datetime as dt
import ipaddress
import ssl

import pytest
from tests.contract.conftest import everything_told, run
from tests.contract.scripted import scripted

from loreline.errors import ConfigInvalid, NetworkFailed
from loreline.gitlab import decode

SECRET = "glpat-hunter2secret"


def certificate(folder, name):
    """A self-signed certificate for this machine: its PEM file, and that of its key."""
    x509 = pytest.importorskip("cryptography.x509", reason="cryptography is not installed here")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, key_pem = folder / f"{name}.pem", folder / f"{name}.key"
    pem.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key_pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pem, key_pem


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    return {name: certificate(folder, name) for name in ("right", "wrong")}


@pytest.fixture
def secure(certificates):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates["right"])
    with scripted(tls=context) as server:
        yield server


async def work(client):
    return await client.get("x", decode.split_items)


def test_a_private_authority_is_trusted_when_its_bundle_is_named(secure, certificates):
    assert run(work, url=secure.url, ca_bundle=str(certificates["right"][0])).value == []


@pytest.mark.parametrize("bundle", [None, "wrong"])
def test_a_certificate_nobody_vouches_for_is_refused_before_the_token_is_sent(secure, certificates, bundle):
    path = None if bundle is None else str(certificates[bundle][0])
    with pytest.raises(NetworkFailed, match="is not trusted") as caught:
        run(work, url=secure.url, ca_bundle=path, token=SECRET, attempts=50, retry_seconds=5)
    assert "ca_bundle" in caught.value.hint
    assert "hunter2" not in everything_told(caught.value)
    assert secure.requests == []


@pytest.mark.parametrize("content", [None, b"", b"this is no PEM", b"\x00\xff"])
def test_a_bundle_that_cannot_be_read_is_a_configuration_error(tmp_path, content):
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigInvalid, match="ca_bundle") as caught:
        run(work, url="https://gitlab.invalid", ca_bundle=str(path), token=SECRET)
    assert "PEM" in caught.value.hint
    assert "hunter2" not in everything_told(caught.value)


def test_a_client_certificate_without_its_key_is_a_configuration_error(certificates):
    with pytest.raises(ConfigInvalid, match="client certificate"):
        run(work, url="https://gitlab.invalid", client_cert=str(certificates["right"][0]))


def test_a_client_certificate_is_shown_to_a_server_that_asks(certificates):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates["right"])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates["wrong"][0])
    trusted = {"ca_bundle": str(certificates["right"][0])}
    cert, key = map(str, certificates["wrong"])
    with scripted(tls=context) as server:
        assert run(work, url=server.url, client_cert=cert, client_key=key, **trusted).value == []
        with pytest.raises(NetworkFailed):
            run(work, url=server.url, **trusted)


@pytest.mark.parametrize(
    "proxy", ["ftp://proxy.example.com", "http://", "socks5://127.0.0.1:1080", "http://[", "http://h:port"]
)
def test_a_proxy_that_is_no_address_is_a_configuration_error(proxy):
    with pytest.raises(ConfigInvalid, match="proxy"):
        run(work, url="http://gitlab.invalid", proxy=proxy)
