"""A simulated device that enrols by import, and signs."""

import base64
import json
import subprocess
import urllib.request

import testbed


class Device:
    """A simulated device with a file of its own."""

    def __init__(self, bed, name="device"):
        self.lab = bed.lab
        self.state = bed.path(name + ".json")
        self.key_id = bed.output("device", [
            bed.lab, "device", "new", "--state", self.state, "--app", testbed.APP]).strip()

    def record(self):
        """Its line for `keys import`."""
        with open(self.state, encoding="utf-8") as file:
            pem = json.load(file)["device"]["key"]
        der = subprocess.run(["openssl", "pkey", "-pubout", "-outform", "DER"], input=pem.encode(),
                             stdout=subprocess.PIPE, check=True).stdout
        return json.dumps({
            "key_id": self.key_id, "public_key": base64.b64encode(der[-65:]).decode(),
            "app_id": testbed.APP, "environment": "production", "counter": 0})

    def sign(self, challenge, fault=None, method="POST", path="/verified", body="x"):
        """The headers of a signed request."""
        text = subprocess.run([
            self.lab, "device", "sign", "--state", self.state, "--challenge", challenge,
            *(["--body", body] if body else []), *(["--fault", fault] if fault else []),
            method, path,
        ], check=True, stdout=subprocess.PIPE, text=True).stdout
        return dict(line.split(": ", 1) for line in text.splitlines())


def import_device(bed, name, device):
    """Enrols it at the gateway that was configured under `name`."""
    records = bed.write(f"{name}-device.jsonl", device.record() + "\n")
    with open(records, encoding="utf-8") as file:
        bed.collect(bed.start(f"import-device-{name}", [
            bed.gateway, "keys", "import", "-c", bed.path(name + ".yaml"),
        ], stdin=file, stdout=subprocess.PIPE, text=True))


def challenge_at(port):
    """A fresh challenge of what answers there."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/assert/challenge") as answer:
        return answer.read().decode()


def token_at(port, device):
    """A session token for an assertion."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/assert/token", b"",
        device.sign(challenge_at(port), path="/assert/token", body=None), method="POST")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["token"]
