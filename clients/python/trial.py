"""Lets the client play against `sallyport-lab trial`, on a simulated device.

    python3 trial.py PORT LAB STATE APPLE APP_ID [CA]
    python3 trial.py PORT LAB STATE GOOGLE PACKAGE=DIGEST [CA]

PORT: the trial's. LAB: the command sallyport-lab. STATE: a file for the device, which must not
exist. APPLE, GOOGLE: the file of `sallyport-lab root`. DIGEST: of the certificate that signs the
Android app, in hexadecimal. CA: PEM, if the trial speaks TLS.
"""

import base64
import json
import ssl
import sys
import time

import lab
import sallyport_client


class SimulatedDevice:
    """Keys in files of sallyport-lab."""

    is_supported = True

    def __init__(self, program, state):
        self._path, self._count = state, 0
        self._lab = lab.Lab(program)
        self.close = self._lab.close

    def _state(self):
        return f"{self._path}.{self._count}"

    def _write(self, contents):
        path = f"{self._path}.input"
        with open(path, "wb") as file:
            file.write(contents)
        return path

    def _mint(self, kind, *words):
        out = f"{self._path}.{kind}"
        self._lab.run("mint", kind, "--device", self._state(), "--out", out, *words)
        with open(out, "rb") as file:
            return file.read()


class LabDevice(SimulatedDevice):
    """A device of Apple's that sallyport-lab simulates."""

    def __init__(self, program, state, apple, app_id):
        super().__init__(program, state)
        self._apple, self._app_id = apple, app_id

    def generate_key(self):
        self._count += 1
        return self._lab.run(
            "device", "new", "--state", self._state(), "--app", self._app_id).strip()

    def attest_key(self, key_id, client_data_hash):
        return self._mint(
            "attestation", "--client-data-hash", client_data_hash.hex(), "--apple", self._apple)

    def generate_assertion(self, key_id, client_data_hash):
        return self._mint("assertion", "--client-data-hash", client_data_hash.hex())


class LabPhone(SimulatedDevice):
    """An Android phone that sallyport-lab simulates."""

    def __init__(self, program, state, google, package, digest):
        super().__init__(program, state)
        self._google, self._package, self._digest = google, package, digest

    def generate_key(self, challenge):
        self._count += 1
        key_id = self._lab.run(
            "device", "new", "--platform", "android", "--state", self._state(),
            "--app", self._package, "--signing-digest", self._digest).strip()
        chain = self._mint(
            "android-attestation", "--google", self._google,
            "--challenge-file", self._write(challenge))
        return key_id, [base64.b64decode(text) for text in json.loads(chain)]

    def sign(self, key_id, client_data):
        return self._mint(
            "android-signature", "--client-data-file", self._write(client_data))


class Player:
    """Runs a client, and does to it what `X-Trial` says."""

    COUNT_MAX = 200

    def __init__(self, kind, transport, device):
        self.kind, self.transport, self.device = kind, transport, device
        self.saved, self.ticket = {}, None
        self.restart()

    def restart(self):
        """Starts the app, with what it has saved."""
        self.client = self.kind(
            self.transport, self.device, dict(self.saved), save=self.save, ticket=self.ticket,
            keep_ticket=self.keep_ticket)

    def reinstall(self):
        """Only the ticket survives."""
        self.saved = {}
        self.restart()

    def save(self, state):
        self.saved = dict(state)

    def keep_ticket(self, ticket):
        self.ticket = ticket

    def play(self):
        """Sends requests until the trial is over. Returns whether it ended."""
        for number in range(self.COUNT_MAX):
            try:
                answer = self.send(number)
            except sallyport_client.TryLater as later:
                time.sleep(max(0, later.until - time.time()))
            except (sallyport_client.Refused, OSError) as error:
                print(number, repr(error), file=sys.stderr)
            else:
                word = answer.headers.get("x-trial")
                if word == "over":
                    return True
                if word == "restart":
                    self.restart()
                if word == "reinstall":
                    self.reinstall()
        return False

    def send(self, number):
        return self.client.send("POST", "/api/trial", b'{"n":%d}' % number)


def parts(port, program, state, root, app, ca=None):
    """The class of the client, its transport and its device."""
    package, is_android, digest = app.partition("=")
    context = ssl.create_default_context(cafile=ca) if ca else None
    scheme = "https" if ca else "http"
    transport = sallyport_client.http_transport(f"{scheme}://localhost:{port}", context)
    if is_android:
        return sallyport_client.AndroidClient, transport, LabPhone(
            program, state, root, package, digest)
    return sallyport_client.Client, transport, LabDevice(program, state, root, app)


def main(*words):
    kind, transport, device = parts(*words)
    is_over = Player(kind, transport, device).play()
    device.close()
    return 0 if is_over else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
