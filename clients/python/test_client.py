"""What the client does where a real gateway cannot be made to fail: python3 -m unittest"""

import base64
import hashlib
import json
import unittest

import sallyport_client as sallyport


class Device:
    """Makes keys with names in a row, and fails as it is told."""

    is_supported = True

    def __init__(self):
        self.key_count = 0
        self.failures = []

    def generate_key(self):
        self.key_count += 1
        return f"key{self.key_count}"

    def attest_key(self, key_id, client_data_hash):
        self._fail("attest")
        return b"attestation"

    def generate_assertion(self, key_id, client_data_hash):
        self._fail("assert")
        return b"assertion"

    def _fail(self, step):
        if self.failures and self.failures[0][0] == step:
            raise sallyport.DeviceError(self.failures.pop(0)[1])


def refusal(status, code, action, **headers):
    fields = {"content-type": "application/problem+json"}
    fields.update((name.replace("_", "-"), value) for name, value in headers.items())
    return sallyport.Answer(
        status, fields, json.dumps({"code": code, "action": action}).encode())


def challenge(token):
    document = {"challenge": token, "expires_in": 120}
    return sallyport.Answer(200, {}, json.dumps(document).encode())


class Gateway:
    """A transport that takes everything, but for the answers that a test puts before."""

    def __init__(self):
        self.requests = []
        self.bodies = {}
        self.answers = {}

    def __call__(self, method, target, headers, body):
        path = target.partition("?")[0]
        self.requests.append((method, path, headers))
        self.bodies[path] = body
        waiting = self.answers.get(path)
        if waiting:
            answer = waiting.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer(headers) if callable(answer) else answer
        if path.endswith("/challenge"):
            return challenge("challenge")
        return sallyport.Answer(200, {}, b"")

    def count(self, path):
        return sum(request[1] == path for request in self.requests)


class TicketTest(unittest.TestCase):
    def setUp(self):
        self.gateway, self.kept = Gateway(), []

    def enrol(self):
        """As after a reinstall, which loses the state and not the ticket."""
        client = sallyport.Client(
            self.gateway, Device(), ticket=self.kept[-1] if self.kept else None,
            keep_ticket=self.kept.append)
        client.enrol()
        return json.loads(self.gateway.bodies["/attest/verify"]).get("installation")

    def test_is_brought_with_the_next_key_and_replaced(self):
        self.gateway.answers["/attest/verify"] = [
            sallyport.Answer(200, {}, json.dumps({"installation": name}).encode())
            for name in ("first", "second", "third")]
        self.assertEqual([self.enrol() for _ in range(3)], [None, "first", "second"])
        self.assertEqual(self.kept, ["first", "second", "third"])

    def test_of_a_gateway_that_gives_none(self):
        for body in (b"", b"{}", b"[]", b'{"installation":1}'):
            self.gateway.answers["/attest/verify"] = [sallyport.Answer(200, {}, body)]
            self.assertIsNone(self.enrol())
        self.assertEqual(self.kept, [])


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.now = 1e9
        self.gateway, self.device, self.state = Gateway(), Device(), {}
        self.client = self.launch()

    def launch(self, **more):
        """A client as at a launch of the program. It shows why it has no proof unless told else."""
        return sallyport.Client(
            self.gateway, self.device, self.state, now=lambda: self.now,
            sleep=lambda seconds: None, **{"sends_unproved": False, **more})

    def send(self, method="GET"):
        return self.client.send(method, "/api/x").status

    def test_refusal_of_head_is_read_from_its_headers(self):
        for value in ('AppAttest error="challenge_expired"',
                      'Basic realm="x", appattest error="challenge_required"'):
            self.gateway.requests.clear()
            self.gateway.answers["/api/x"] = [
                sallyport.Answer(401, {"www-authenticate": value}, b"")]
            self.assertEqual(self.send("HEAD"), 200)
            self.assertEqual(self.gateway.count("/api/x"), 2)
        self.gateway.answers["/api/x"] = [
            sallyport.Answer(401, {"www-authenticate": 'AppAttest error="key_unknown"'}, b"")]
        self.assertEqual(self.send("HEAD"), 200)
        self.assertEqual(self.device.key_count, 2)

    def test_refusal_of_head_with_an_unknown_code_asks_for_nothing(self):
        self.gateway.answers["/api/x"] = [
            sallyport.Answer(401, {"www-authenticate": 'AppAttest error="new"'}, b"")]
        with self.assertRaises(sallyport.Refused) as caught:
            self.send("HEAD")
        self.assertEqual(caught.exception.action, "none")

    def test_other_answers_without_a_body_are_the_api_s(self):
        self.gateway.answers["/api/x"] = [
            sallyport.Answer(401, {"www-authenticate": "Bearer"}, b""),
            sallyport.Answer(403, {"www-authenticate": 'AppAttest error="x"'}, b"")]
        self.assertEqual(self.send("HEAD"), 401)
        self.assertEqual(self.send("HEAD"), 403)

    def test_wait_is_no_longer_than_told_where_the_clock_was_set_back(self):
        year = 365 * 24 * 3600
        self.now += year
        self.gateway.answers["/attest/challenge"] = [
            refusal(429, "rate_limited", "retry_later", retry_after="600")]
        self.assertRaises(sallyport.Refused, self.send)
        self.now -= year
        # How much of the wait is over is not known, so it begins anew, once.
        self.assertRaises(sallyport.TryLater, self.send)
        self.now += 599
        self.client = self.launch()
        self.assertRaises(sallyport.TryLater, self.send)
        self.now += 600 * 0.25 + 2
        self.assertEqual(self.send(), 200)

    def test_no_retry_after_of_more_than_a_week_is_believed(self):
        self.gateway.answers["/attest/challenge"] = [
            refusal(429, "rate_limited", "retry_later", retry_after="4000000000")]
        self.assertRaises(sallyport.Refused, self.send)
        self.now += 7 * 24 * 3600 * 1.25 + 1
        self.assertEqual(self.send(), 200)

    def test_request_by_a_key_that_is_replaced_already_is_just_signed_again(self):
        unknown = refusal(401, "key_unknown", "attest_again")

        def overtaken(headers):
            # Another request meets the same refusal while this one is on its way.
            self.gateway.answers["/api/x"] = [unknown]
            self.assertEqual(self.send(), 200)
            return unknown

        self.gateway.answers["/api/x"] = [overtaken]
        self.assertEqual(self.send(), 200)
        self.assertEqual(self.device.key_count, 2)
        # The new key is not given up so soon.
        self.gateway.answers["/api/x"] = [unknown]
        self.assertRaises(sallyport.Refused, self.send)
        self.assertEqual(self.device.key_count, 2)

    def test_key_is_replaced_after_three_failures_to_sign_in_a_row(self):
        self.assertEqual(self.send(), 200)
        for code in ("unknown_system_failure", "invalid_input"):
            keys = self.device.key_count
            for count in (2, 2):
                self.device.failures = [("assert", code)] * count
                for _ in range(count):
                    self.client = self.launch()
                    self.assertRaises(sallyport.DeviceError, self.send)
                # A signature in between begins the count anew.
                self.assertEqual(self.send(), 200)
            self.device.failures = [("assert", code)] * 3
            self.assertRaises(sallyport.DeviceError, self.send)
            self.assertRaises(sallyport.DeviceError, self.send)
            self.assertEqual(self.send(), 200)
            self.assertEqual(self.device.key_count, keys + 1)
            # Not so soon again.
            self.device.failures = [("assert", code)] * 4
            for _ in range(4):
                self.assertRaises(sallyport.DeviceError, self.send)
            self.assertEqual(self.device.key_count, keys + 1)
            self.now += 3601
            self.device.failures = []
            self.assertEqual(self.send(), 200)

    def test_key_stays_where_apple_is_away(self):
        self.assertEqual(self.send(), 200)
        self.device.failures = [("assert", "server_unavailable")] * 9
        for _ in range(9):
            self.assertRaises(sallyport.DeviceError, self.send)
        self.assertEqual(self.send(), 200)
        self.assertEqual(self.device.key_count, 1)

    def test_reset_forgets_key_and_waits(self):
        self.assertEqual(self.send(), 200)
        self.client.reset()
        self.device.failures = [("attest", "server_unavailable")]
        self.assertRaises(sallyport.DeviceError, self.send)
        self.assertRaises(sallyport.TryLater, self.send)
        self.client.reset()
        self.assertEqual(self.send(), 200)
        self.assertEqual(self.device.key_count, 3)
        # It counts as a new key: the client makes no further one by itself so soon.
        self.gateway.answers["/api/x"] = [refusal(401, "key_unknown", "attest_again")]
        self.assertRaises(sallyport.Refused, self.send)
        self.assertEqual(self.device.key_count, 3)

    def test_request_without_a_proof_is_sent_and_the_gateway_decides(self):
        self.client = self.launch(sends_unproved=True)
        self.device.failures = [("attest", "server_unavailable")]
        self.assertEqual(self.send(), 200)
        self.assertEqual(self.send(), 200)  # The enrolment waits.
        for _, path, headers in self.gateway.requests:
            self.assertNotIn("X-App-Attest-Assertion", headers, path)
        self.now += 10
        self.assertEqual(self.send(), 200)
        self.assertIn("X-App-Attest-Assertion", self.gateway.requests[-1][2])

    def test_reason_is_told_where_the_gateway_insists_on_a_proof(self):
        self.client = self.launch(sends_unproved=True)
        self.gateway.answers["/attest/challenge"] = [
            refusal(429, "rate_limited", "retry_later", retry_after="60")]
        self.gateway.answers["/api/x"] = [
            refusal(401, "assertion_required", "sign_again") for _ in range(3)]
        with self.assertRaises(sallyport.Refused) as caught:
            self.send()
        self.assertEqual(caught.exception.code, "rate_limited")
        self.assertRaises(sallyport.TryLater, self.send)
        self.assertEqual(self.gateway.count("/api/x"), 2)

    def test_request_without_a_proof_is_not_sent_if_it_is_to_fail(self):
        self.device.failures = [("attest", "server_unavailable")]
        self.assertRaises(sallyport.DeviceError, self.send)
        self.assertRaises(sallyport.TryLater, self.send)
        self.assertEqual(self.gateway.count("/api/x"), 0)

    def test_nothing_is_sent_that_the_network_would_not_carry_either(self):
        self.client = self.launch(sends_unproved=True)
        self.gateway.answers["/attest/challenge"] = [ConnectionResetError()]
        self.assertRaises(ConnectionResetError, self.send)
        self.assertEqual(self.gateway.count("/api/x"), 0)


class Phone:
    """Makes keys with names in a row, and keeps what it attested and signed."""

    is_supported = True

    def __init__(self):
        self.challenges, self.signed, self.failures = [], [], []

    def generate_key(self, challenge):
        self.challenges.append(challenge)
        return f"key{len(self.challenges)}", [b"leaf", b"root"]

    def sign(self, key_id, client_data):
        if self.failures:
            raise sallyport.DeviceError(self.failures.pop(0))
        self.signed.append((key_id, client_data))
        return b"signature"


class AndroidClientTest(unittest.TestCase):
    def setUp(self):
        self.gateway, self.phone, self.bodies = Gateway(), Phone(), []

        def transport(method, target, headers, body):
            self.bodies.append((target, body))
            return self.gateway(method, target, headers, body)

        self.client = sallyport.AndroidClient(
            transport, self.phone, sleep=lambda seconds: None, sends_unproved=False)

    def test_key_is_made_for_a_challenge_that_names_none(self):
        self.assertEqual(self.client.send("GET", "/api/x").status, 200)
        self.assertEqual(self.phone.challenges, [b"challenge"])
        self.assertEqual(self.bodies[0][0], "/attest/challenge")
        self.assertEqual(json.loads(self.bodies[1][1]), {
            "platform": "android", "key_id": "key1", "chain": ["bGVhZg==", "cm9vdA=="],
            "challenge": "challenge"})

    def test_signature_is_of_the_client_data_itself(self):
        self.client.send("GET", "/api/x")
        headers = self.gateway.requests[-1][2]
        key_id, client_data = self.phone.signed[0]
        self.assertEqual(headers["X-App-Attest-Key-Id"], key_id)
        self.assertEqual(
            base64.b64decode(headers["X-App-Attest-Client-Data"]), client_data)
        self.assertEqual(base64.b64decode(headers["X-App-Attest-Assertion"]), b"signature")

    def test_longer_challenge_than_keystore_takes_is_hashed(self):
        token = b"c" * 129
        self.gateway.answers["/attest/challenge"] = [challenge(token.decode())]
        self.client.enrol()
        self.assertEqual(self.phone.challenges, [hashlib.sha256(token).digest()])

    def test_expired_challenge_ends_the_key_once(self):
        expired = refusal(401, "challenge_expired", "fetch_challenge")
        self.gateway.answers["/attest/verify"] = [expired]
        self.client.enrol()
        self.assertEqual(len(self.phone.challenges), 2)
        self.client.reset()
        self.gateway.answers["/attest/verify"] = [expired, expired]
        self.assertRaises(sallyport.Refused, self.client.enrol)
        self.assertEqual(len(self.phone.challenges), 4)

    def test_invalidated_key_is_replaced_once(self):
        self.client.enrol()
        self.phone.failures = ["key_permanently_invalidated"]
        self.assertEqual(self.client.send("GET", "/api/x").status, 200)
        self.assertEqual(len(self.phone.challenges), 2)
        self.phone.failures = ["key_permanently_invalidated"]
        self.assertRaises(sallyport.DeviceError, self.client.send, "GET", "/api/x")
        self.assertEqual(len(self.phone.challenges), 2)


if __name__ == "__main__":
    unittest.main()
