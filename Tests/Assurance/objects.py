"""The objects that both verifiers judge: real ones, if they are there, and minted ones."""

import base64
import dataclasses
import hashlib
import json
import pathlib
import re
import sys
import time

from cryptography import x509 as library
from cryptography.hazmat.primitives import serialization

sys.path.append(str(pathlib.Path(__file__).parents[2] / "clients/python"))
import lab

APP = "ABCDE12345.com.example.app"
KINDS = ("attestation", "assertion", "receipt")
# Apple's roots, by the SHA-256 that Apple publishes beside them.
REAL_ROOTS = {
    "Apple_App_Attestation_Root_CA.pem":
        "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932",
    "Apple_Root_CA-G3.pem": "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"}


@dataclasses.dataclass
class Object:
    """One object, what is known beside it, and what it has to come to, where that is recorded."""

    name: str
    kind: str
    data: bytes
    at: int
    root: pathlib.Path
    client_data_hash: bytes = None
    key_id: bytes = None
    public_key: bytes = None
    app_id: str = None
    environment: str = None
    recorded: str = None
    origin: str = "minted"
    # Private keys of those who made it, of minted objects.
    keys: dict = None


def der_of(pem):
    certificate = library.load_pem_x509_certificate(pem.read_bytes())
    return certificate.public_bytes(serialization.Encoding.DER)


def private_key(pem):
    return serialization.load_pem_private_key(pem.encode(), None)


def point_of(key):
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def seconds(text):
    """Of a time with whole seconds in UTC."""
    return int(time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))) - time.timezone


def optional(text):
    return None if text is None else base64.b64decode(text)


def real(folder):
    """What `folder` holds, with Apple's roots from beside it; nothing where it is not."""
    files = sorted(pathlib.Path(folder).glob("*.json"))
    roots = pathlib.Path(folder).parent / "certs"
    for name, digest in REAL_ROOTS.items():
        if files and hashlib.sha256(der_of(roots / name)).hexdigest() != digest:
            raise SystemExit(f"{roots / name} is not Apple's")
    for file in files:
        vector = json.loads(file.read_text())
        kind = vector["kind"]
        yield Object(
            name=vector["id"], kind=kind, data=base64.b64decode(vector["object_b64"]),
            at=seconds(vector.get("verify_at") or "2026-01-01T00:00:00Z"),
            root=roots / list(REAL_ROOTS)[kind == "receipt"],
            client_data_hash=(
                None if kind == "receipt" else optional(vector.get("client_data_hash_b64"))),
            key_id=optional(vector.get("key_id")),
            public_key=optional(vector.get("public_key_b64")), app_id=vector["app_id"],
            environment=vector.get("environment"), recorded=vector["expected"], origin="real")


class Mint:
    """Objects of `sallyport-lab`, whose private keys are known."""

    def __init__(self, program, folder):
        self.folder = pathlib.Path(folder)
        self.run = lab.Lab(program).run
        self.at = int(time.time())
        self.root, self.receipt_root = self.folder / "root.pem", self.folder / "receipt-root.pem"
        self.apple = self.folder / "apple.json"
        self.run("root", "--state", self.apple, "--pem", self.root,
                 "--receipt-root-pem", self.receipt_root)
        self.keys = {
            name: private_key(pem)
            for name, pem in json.loads(self.apple.read_text()).items() if name.endswith("_key")}
        self.hash = hashlib.sha256(b"challenge").digest()

    def all(self):
        """Every valid form, and each with every fault, of the first system and the last."""
        faults, systems, receipts = self.forms()
        for system in systems:
            for environment in ("production", "development"):
                device = Device(self, system, environment)
                for receipt in receipts:
                    yield device.object("attestation", receipt, "--receipt", receipt)
                for number in range(3):
                    yield device.object("assertion", f"number {number}")
                yield device.object("receipt", "attest")
                yield device.object("receipt", "exchanged", "--risk-metric", 7)
        for system in (systems[0], systems[-3]):
            device = Device(self, system, "production")
            for kind, fault, reason in faults:
                yield device.object(kind, fault, "--fault", fault, recorded=reason)
        yield from self.vectors()

    def forms(self):
        """What `mint --list` tells: faults with kind and reason, systems, receipt forms."""
        text = self.run("mint", "--list")
        faults, kind = [], None
        for line in text.splitlines():
            if line.endswith(" faults:"):
                kind = line.split()[0]
            elif line.startswith("  ") and not kind.startswith("android-"):
                # Phones are not this verifier's.
                name, reason = line.split()
                faults.append((kind, name, reason))
        systems = re.search("^systems: (.*)$", text, re.M)[1].split()
        return faults, systems, re.search("^receipt forms: (.*)$", text, re.M)[1].split()

    def vectors(self):
        """The published requests; what a gateway alone can refuse is valid here."""
        file = self.folder / "vectors.json"
        self.run("vectors", "--out", file)
        document = json.loads(file.read_text())
        for vector in document["vectors"]:
            known = vector["expected"] == "ok"
            yield Object(
                name=f"vectors, {vector['name']}", kind="assertion",
                data=base64.b64decode(vector["assertion"]), at=self.at, root=self.root,
                client_data_hash=bytes.fromhex(vector["client_data_sha256"]),
                key_id=optional(document["key"]["key_id"]),
                public_key=optional(document["key"]["public_point"]),
                app_id=document["app_id"], recorded="ok" if known else None)


class Device:
    """One device of the mint's."""

    def __init__(self, mint, system, environment):
        self.mint, self.system, self.environment = mint, system, environment
        self.file = mint.folder / f"{system}-{environment}.json"
        if not self.file.exists():
            mint.run("device", "new", "--state", self.file, "--app", APP,
                     "--environment", environment, "--system", system)
        self.key = private_key(json.loads(self.file.read_text())["device"]["key"])

    def object(self, kind, form, *options, recorded="ok"):
        mint, out = self.mint, self.mint.folder / "object"
        words = ["mint", kind, "--device", self.file, "--out", out, *options]
        if kind != "assertion":
            words += ["--apple", mint.apple, "--at", mint.at]
        if kind != "receipt":
            words += ["--client-data-hash", mint.hash.hex()]
        mint.run(*words)
        point = point_of(self.key)
        return Object(
            name=f"{self.system}, {self.environment}, {kind}, {form}", kind=kind,
            data=out.read_bytes(), at=mint.at,
            root=mint.receipt_root if kind == "receipt" else mint.root,
            client_data_hash=None if kind == "receipt" else mint.hash,
            key_id=hashlib.sha256(point).digest(),
            public_key=None if kind == "attestation" else point, app_id=APP,
            environment=self.environment, recorded=recorded,
            keys={**mint.keys, "device_key": self.key})
