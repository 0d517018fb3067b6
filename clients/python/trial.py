"""Lets the client play against `sallyport-lab trial`, on a simulated device.

    python3 trial.py PORT LAB STATE APPLE APP_ID [CA]

PORT: the trial's. LAB: the command sallyport-lab. STATE: a file for the device, which must not
exist. APPLE: the file of `sallyport-lab root`. CA: PEM, if the trial speaks TLS.
"""

import ssl
import subprocess
import sys
import time

import sallyport_client


class LabDevice:
    """A device that sallyport-lab simulates."""

    def __init__(self, lab, state, apple, app_id):
        self._lab, self._path, self._apple, self._app_id = lab, state, apple, app_id
        self._count = 0

    def _run(self, *words):
        return subprocess.run(
            [self._lab, *words], check=True, capture_output=True, text=True).stdout

    def _state(self):
        return f"{self._path}.{self._count}"

    def generate_key(self):
        self._count += 1
        return self._run("device", "new", "--state", self._state(), "--app", self._app_id).strip()

    def attest_key(self, key_id, client_data_hash):
        return self._mint("attestation", client_data_hash, "--apple", self._apple)

    def generate_assertion(self, key_id, client_data_hash):
        return self._mint("assertion", client_data_hash)

    def _mint(self, kind, client_data_hash, *words):
        out = f"{self._path}.{kind}"
        self._run(
            "mint", kind, "--device", self._state(), "--out", out, "--client-data-hash",
            client_data_hash.hex(), *words)
        with open(out, "rb") as file:
            return file.read()


def main(port, lab, state, apple, app_id, ca=None):
    context = ssl.create_default_context(cafile=ca) if ca else None
    scheme = "https" if ca else "http"
    client = sallyport_client.Client(
        sallyport_client.http_transport(f"{scheme}://localhost:{port}", context),
        LabDevice(lab, state, apple, app_id))
    for number in range(200):
        try:
            answer = client.send("POST", "/api/trial", b'{"n":%d}' % number)
        except sallyport_client.TryLater as later:
            time.sleep(max(0, later.until - time.time()))
        except (sallyport_client.Refused, OSError) as error:
            print(number, repr(error), file=sys.stderr)
        else:
            if answer.headers.get("x-trial") == "over":
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
