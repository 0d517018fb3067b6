"""Holds the client to docs/client/behaviour-cases.json, as every other client is."""

import copy
import json
import pathlib
import unittest

import sallyport_client as sallyport

FILE = pathlib.Path(__file__).parents[2] / "docs/client/behaviour-cases.json"
CASES = json.loads(FILE.read_text())["cases"]
LIFETIMES = {"challenge": 120, "token": 300}


class Device:
    """The keys of a simulated device, which fail as a case says."""

    def __init__(self, actions):
        self.actions, self.failures = actions, {}
        self.is_supported = True
        self.key_count = 0

    def _take(self, step, action):
        self.actions.append(action)
        if self.failures.get(step):
            raise sallyport.DeviceError("simulated", self.failures[step].pop(0))


class AppleDevice(Device):
    def generate_key(self):
        self._take("make", "make key")
        self.key_count += 1
        return f"k+{self.key_count}/="

    def attest_key(self, key_id, client_data_hash):
        self._take("attest", "attest key")
        return b"attestation"

    def generate_assertion(self, key_id, client_data_hash):
        self._take("sign", "sign")
        return b"assertion"


class Phone(Device):
    def generate_key(self, challenge):
        self._take("make", "make key")
        self.key_count += 1
        return f"k+{self.key_count}/=", [b"leaf"]

    def sign(self, key_id, client_data):
        self._take("sign", "sign")
        return b"signature"


class Gateway:
    """A transport that serves everything, but for the answers that a case puts before."""

    def __init__(self, actions):
        self.actions, self.answers = actions, {}
        self.count = 0

    def __call__(self, method, target, headers, body):
        path = target.partition("?")[0]
        is_api = path.startswith("/api/")
        self.actions.append(f"send {proof_of(headers)}" if is_api else f"{method} {path}")
        waiting = self.answers.get(path)
        answer = waiting.pop(0) if waiting else {"status": 200}
        if answer == "lost":
            raise ConnectionResetError()
        return self._answer(path, answer)

    def _answer(self, path, answer):
        fields = {}
        if answer.get("challenge", True):
            fields["x-app-attest-challenge"] = self._token()
        if "retryAfter" in answer:
            fields["retry-after"] = str(answer["retryAfter"])
        if "header" in answer:
            fields["www-authenticate"] = f'AppAttest error="{answer["header"]}"'
        if "code" in answer:
            fields["content-type"] = "application/problem+json"
            members = {
                name: answer[name] for name in ("code", "action", "retry", "assertion")
                if name in answer}
            return sallyport.Answer(answer["status"], fields, json.dumps(members).encode())
        return sallyport.Answer(answer["status"], fields, self._body(path, answer["status"]))

    def _token(self):
        self.count += 1
        return f"challenge-{self.count}"

    def _body(self, path, status):
        if status != 200:
            return b"not the gateway's"
        members = {"installation": f"ticket-{self.count}"}
        if path.endswith("/challenge"):
            members = {"challenge": self._token(), "expires_in": LIFETIMES["challenge"]}
        if path == "/assert/token":
            members = {"token": "token", "expires_in": LIFETIMES["token"]}
        return json.dumps(members).encode()


def proof_of(headers):
    if "X-App-Attest-Token" in headers:
        return "token"
    return "signed" if "X-App-Attest-Assertion" in headers else "unproved"


class World:
    """A client of a platform, with its device, its gateway and its clock."""

    KINDS = {"apple": (sallyport.Client, AppleDevice), "android": (sallyport.AndroidClient, Phone)}

    def __init__(self, platform):
        client, device = self.KINDS[platform]
        self.now, self.actions, self.state = 1_800_000_000, [], {}
        self.device, self.gateway = device(self.actions), Gateway(self.actions)
        self.client = client(
            self.gateway, self.device, self.state, now=lambda: self.now, sleep=self.sleep,
            chance=lambda: 0)

    def sleep(self, seconds):
        self.actions.append(f"wait {seconds:g}")
        self.now += seconds

    def named_state(self):
        """The stage and the rest of the wait, in whole seconds."""
        stage = self.state.get("stage", "none")
        seconds = round(self.state.get("waits_until", 0) - self.now)
        return f"{stage} waits {seconds}" if seconds > 0 else stage

    def outcome(self, event):
        """Carries an event out, and returns how it ended."""
        event = copy.deepcopy(event)
        self.device.failures = event.get("device", {})
        self.gateway.answers = event.get("gateway", {})
        try:
            return self.carry_out(event)
        except sallyport.Refused as refusal:
            return f"refused {refusal.code}"
        except sallyport.TryLater:
            return "tryLater"
        except sallyport.Unsupported:
            return "unsupported"
        except ConnectionResetError:
            return "network"

    def carry_out(self, event):
        if event["call"] == "wait":
            self.now += event["seconds"]
        elif event["call"] == "enrol":
            self.client.enrol()
        elif event["call"] == "reset":
            self.client.reset()
        else:
            answer = self.client.send(
                event.get("method", "GET"), "/api/x", proof=event.get("proof", "assertion"))
            return "ok" if answer.status == 200 else f"answer {answer.status}"
        return "ok"


class BehaviourTest(unittest.TestCase):
    def test_cases(self):
        for platform in World.KINDS:
            for row in CASES:
                if row.get("platform", platform) == platform:
                    with self.subTest(platform=platform, name=row["name"]):
                        self.check(World(platform), row)

    def check(self, world, row):
        world.device.is_supported = row.get("supported", True)
        for event in row["given"]:
            world.outcome(event)
        self.assertEqual(world.named_state(), row["state"])
        world.actions.clear()
        self.assertEqual(world.outcome(row["event"]), row["result"])
        self.assertEqual(world.actions, row["actions"])
        self.assertEqual(world.named_state(), row["nextState"])

    def test_there_are_cases_of_each_kind(self):
        self.assertGreater(len(CASES), 80)


if __name__ == "__main__":
    unittest.main()
