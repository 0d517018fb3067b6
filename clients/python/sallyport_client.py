"""A client of a Sallyport gateway: enrols, signs, and follows refusals. Standard library only.

It is for tests, for machines without Apple's frameworks, and to be read: what it does, every client
does. The device is the caller's: an object with generate_key(), attest_key(key_id, hash) and
generate_assertion(key_id, hash), which raise DeviceError; for AndroidClient, one with
generate_key(challenge) and sign(key_id, client_data).
"""

import base64
import hashlib
import http.client
import json
import random
import re
import socket
import ssl
import threading
import time
import urllib.parse


class DeviceError(Exception):
    """A failure of the device. code: a DCError's, such as invalid_key, or any other word.

    Of Android's, key_permanently_invalidated and key_missing end the key as invalid_key does.
    """

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Refused(Exception):
    """The gateway refuses, and nothing that the client may do changes that now."""

    def __init__(
            self, status, code, action, assertion, retry_after, request_id, retry=None):
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code
        self.action = action
        self.assertion = assertion
        self.retry_after = retry_after
        self.request_id = request_id
        # What the answer says about another try; it comes before the client's own constants.
        self.retry = retry or {}


class TryLater(Exception):
    """An enrolment has to wait. until: by the client's clock, in seconds."""

    def __init__(self, until):
        super().__init__(f"wait until {until}")
        self.until = until


# The longest wait that an answer can ask for.
SECONDS_MAX = 7 * 24 * 3600

ACTIONS = {"sign_again", "fetch_challenge", "attest_again", "update_app", "retry_later", "none"}

# What to do about the codes of refusals with 401. Where a document is, its action counts.
ACTIONS_BY_CODE = dict.fromkeys([
    "assertion_required", "assertion_malformed", "assertion_invalid", "assertion_replayed",
    "challenge_expired", "request_mismatch", "body_mismatch", "device_token_invalid",
    "token_invalid"], "sign_again")
ACTIONS_BY_CODE.update(challenge_required="fetch_challenge", key_unknown="attest_again")

# What X-App-Attest-Failure calls what a device says.
DEVICE_CODES = {
    "unknown_system_failure": "unknownSystemFailure", "feature_unsupported": "featureUnsupported",
    "invalid_input": "invalidInput", "invalid_key": "invalidKey",
    "server_unavailable": "serverUnavailable", "unsupported": "unsupported",
    "key_permanently_invalidated": "keyPermanentlyInvalidated", "key_missing": "keyMissing",
    "key_store": "keyStore",
}
# The key is lost, and another may do.
OF_THE_KEY = {"invalid_key", "key_permanently_invalidated", "key_missing"}
# Apple's servers and the kind of device: no other key would do better.
NOT_OF_THE_KEY = {"server_unavailable", "feature_unsupported"}
# The steps of the device, rather than of the network, which the gateway hears of otherwise.
DEVICE_PHASES = {"key", "attest", "assert"}


class UnexpectedAnswer(OSError):
    """Something else than the gateway has answered, or not as it does."""


def failure_code(error):
    """What X-App-Attest-Failure calls an error."""
    if isinstance(error, DeviceError):
        return DEVICE_CODES.get(error.code, "other")
    if isinstance(error, Refused):
        return "refused"
    for kind, code in [
            (UnexpectedAnswer, "unexpectedAnswer"), (TimeoutError, "timedOut"),
            (ssl.SSLError, "untrusted"), (socket.gaierror, "unreachable"),
            (ConnectionRefusedError, "unreachable"), (ConnectionError, "connectionLost")]:
        if isinstance(error, kind):
            return code
    return "other"


def retry_advice(member):
    """The numbers of a member `retry` that make sense."""
    if not isinstance(member, dict):
        return {}
    return {name: value for name, value in member.items()
            if isinstance(value, (int, float)) and 0 <= value <= SECONDS_MAX}


class Answer:
    """status, headers (names in lower case) and body of an answer."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def refusal(self):
        """The gateway's refusal, or None if the answer is the API's.

        An answer to HEAD has no document, and a proxy may put a page of its own in the document's
        place. A refusal with 401 has its code in a header, too.
        """
        try:
            document = self._problem()
            code, action = document["code"], document["action"]
        except (ValueError, KeyError, TypeError):
            return self._refusal_by_head()
        if action not in ACTIONS:
            return None
        return Refused(
            self.status, code, action, document.get("assertion"), self._retry_after(),
            document.get("request_id"), retry_advice(document.get("retry")))

    def _problem(self):
        kind = self.headers.get("content-type", "").lower()
        if self.status < 400 or not kind.startswith("application/problem+json"):
            return None
        return json.loads(self.body)

    def _refusal_by_head(self):
        challenge = self.headers.get("www-authenticate", "")
        match = re.search(r'AppAttest error="([^"]+)"', challenge, re.IGNORECASE)
        if self.status != 401 or not match:
            return None
        code = match[1]
        return Refused(
            self.status, code, ACTIONS_BY_CODE.get(code, "none"), None, self._retry_after(),
            self.headers.get("x-request-id"))

    def _retry_after(self):
        seconds = self.headers.get("retry-after", "")
        return min(int(seconds), SECONDS_MAX) if seconds.isdecimal() else None


def http_transport(base, context=None, timeout=30):
    """Sends each request once over a connection of its own, and follows no redirection."""
    parts = urllib.parse.urlsplit(base)

    def send(method, target, headers, body):
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(parts.netloc, context=context, timeout=timeout)
        else:
            connection = http.client.HTTPConnection(parts.netloc, timeout=timeout)
        try:
            connection.request(method, target, body or None, headers)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        except http.client.HTTPException as error:
            raise ConnectionError(f"no whole answer: {error!r}") from error
        finally:
            connection.close()

    return send


class Client:
    """Signs requests one after the other, as routes with `replay: strict` want them.

    state: a dictionary that the caller keeps between runs (JSON takes it); save: called after each
    change of it. about: os, app and version, as far as they are known, for what is told of
    failures; None tells nothing. sends_unproved: whether a request that cannot be proved now goes
    without a proof, for the gateway to decide; one that enforces refuses it, and the reason is
    raised.
    """

    ATTEMPTS_MAX = 3
    WAIT_MAX = 10
    ENROLMENT_WAIT_MAX = 6 * 3600
    NEW_KEY_INTERVAL = 3600
    # How often a key may fail to sign in a row before it is given up: some never sign again.
    SIGN_FAILURES_MAX = 3
    # What an enrolment is about to do, by its stage.
    PHASES = {None: "key", "made": "challenge", "challenged": "attest", "attested": "verify"}

    def __init__(
            self, transport, device, state=None, save=lambda state: None, base="/",
            now=time.time, sleep=time.sleep, about=(), sends_unproved=True):
        self._transport = transport
        self._device = device
        self._state = state if state is not None else {}
        self._save = save
        self._base = base
        self._now = now
        self._sleep = sleep
        self._challenge = None
        self._sends_unproved = sends_unproved
        self._about = about if about is None else dict(about)
        # What failed and was not told yet: its phase, and the header.
        self._failure = None
        self._turn = threading.RLock()

    def send(self, method, target, body=b"", headers=None):
        """Returns the API's Answer. Raises Refused, TryLater, DeviceError or OSError."""
        attempt = 1
        while True:
            with self._turn:
                reason = None
                try:
                    key_id, proof = self._signed(method, target, body)
                except (DeviceError, Refused, TryLater, UnexpectedAnswer) as error:
                    # What the network fails to carry now, it would not carry unproved either.
                    if not self._sends_unproved:
                        raise
                    key_id, proof, reason = None, {}, error
                signed = {**(headers or {}), **proof}
                try:
                    answer = self._exchange(method, target, signed, body)
                except OSError as error:
                    self._note("request", error)
                    raise
            refusal = answer.refusal()
            if refusal is None:
                return answer
            # The gateway insists on a proof. Why there is none says more than that.
            if reason and refusal.action in ("sign_again", "fetch_challenge", "attest_again"):
                raise reason
            attempts_max = min(refusal.retry.get("max", self.ATTEMPTS_MAX - 1), 9) + 1
            if attempt >= attempts_max or not self._resolve(
                    refusal, key_id, method, attempt):
                raise refusal
            attempt += 1

    def enrol(self):
        """Enrols a key unless there is one. Returns the key ID."""
        with self._turn:
            return self._enrolled_key()

    def reset(self):
        """Forgets the key and every wait. The next request enrols another key.

        This is not for the handling of errors: the client replaces a key that is of no use by
        itself, and Apple counts the keys of a device.
        """
        with self._turn:
            self._forget_key()

    # The request

    def _signed(self, method, target, body):
        """The key ID, and the headers with an assertion."""
        key_id = self._enrolled_key()
        try:
            return key_id, self._signed_by(key_id, method, target, body)
        except DeviceError as error:
            failures = self._state.get("failures", 0)
            if error.code not in OF_THE_KEY and (
                    error.code in NOT_OF_THE_KEY or failures < self.SIGN_FAILURES_MAX):
                raise
            if not self._give_up_key(key_id):
                raise
            key_id = self._enrolled_key()
            return key_id, self._signed_by(key_id, method, target, body)

    def _signed_by(self, key_id, method, target, body):
        path, _, query = target.partition("?")
        client_data = json.dumps({
            "challenge": self._take_challenge(key_id), "method": method, "path": path,
            "query": query,
            "bodySHA256": base64.b64encode(hashlib.sha256(body).digest()).decode(),
        }).encode()
        try:
            assertion = self._proof(key_id, client_data)
        except DeviceError as error:
            self._note("assert", error, self._state.get("failures", 0) + 1)
            if error.code not in NOT_OF_THE_KEY:
                self._state["failures"] = self._state.get("failures", 0) + 1
                self._save(self._state)
            raise
        if self._state.pop("failures", None):
            self._save(self._state)
        return {
            "X-App-Attest-Client-Data": base64.b64encode(client_data).decode(),
            "X-App-Attest-Assertion": base64.b64encode(assertion).decode(),
            "X-App-Attest-Key-Id": key_id,
        }

    def _proof(self, key_id, client_data):
        return self._device.generate_assertion(key_id, hashlib.sha256(client_data).digest())

    def _take_challenge(self, key_id):
        kept, self._challenge = self._challenge, None
        try:
            return kept or self._fetch_challenge("assert/challenge", key_id)
        except (Refused, OSError) as error:
            self._note("challenge", error)
            raise

    def _fetch_challenge(self, path, key_id=None):
        target = self._base + path
        if key_id:
            # The other alphabet of base64 needs no escapes in a query.
            target += "?key_id=" + key_id.translate(str.maketrans("+/", "-_")).rstrip("=")
        answer = self._transmit("GET", target, {}, b"")
        refusal = answer.refusal()
        if refusal:
            raise refusal
        if answer.status != 200:
            raise UnexpectedAnswer(f"{path}: {answer.status}")
        return answer.body.decode("ascii")

    def _exchange(self, method, target, headers, body):
        answer = self._transmit(method, target, headers, body)
        self._challenge = answer.headers.get("x-app-attest-challenge") or self._challenge
        return answer

    # What failed, told once: with the next request, or by one of its own where none follows soon

    def _transmit(self, method, target, headers, body):
        told, self._failure = self._failure, None
        if told:
            headers = {**headers, "X-App-Attest-Failure": told[1]}
        try:
            return self._transport(method, target, headers, body)
        except OSError:
            # Only an answer shows that it was heard.
            self._failure = self._failure or told
            raise

    def _note(self, phase, error, attempt=1):
        if self._about is None:
            return
        # A network that fails after a device did must not hide that.
        if self._failure and self._failure[0] in DEVICE_PHASES and phase not in DEVICE_PHASES:
            return
        parts = {"phase": phase, "code": failure_code(error), "try": str(min(max(attempt, 1), 99))}
        for name in ("os", "app", "version"):
            value = str(self._about.get(name, ""))
            # What has another form would only spoil the rest.
            if re.fullmatch(r"[A-Za-z0-9._-]{1,128}", value):
                parts[name] = value
        self._failure = (phase, ";".join(f"{name}={value}" for name, value in parts.items()))

    def _tell_failure(self):
        """If it fails as well, the next request tells it."""
        if self._failure and self._failure[0] in DEVICE_PHASES | {"verify"}:
            try:
                self._transmit("POST", f"{self._base}attest/failure", {}, b"")
            except OSError:
                pass

    def _resolve(self, refusal, key_id, method, attempt):
        if refusal.action in ("sign_again", "fetch_challenge"):
            return True
        if refusal.action == "attest_again":
            with self._turn:
                return self._give_up_key(key_id, refusal.retry.get("new_key_after"))
        if refusal.action != "retry_later":
            return False
        may_have_run = refusal.code in ("upstream_failed", "upstream_timeout")
        if may_have_run and method not in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE"):
            return False
        wait = self._wait(attempt, refusal.retry_after, self.WAIT_MAX, refusal.retry)
        if wait > self.WAIT_MAX * 1.25:
            return False
        self._sleep(wait)
        return True

    @staticmethod
    def _wait(failures, retry_after, limit, retry):
        first = retry.get("after", 1)
        factor = min(max(retry.get("backoff", 2), 1), 10)
        longest = max(retry.get("longest", limit), first)
        longer = min(first * factor ** min(failures - 1, 30), longest)
        return max(retry_after or 0, longer) * random.uniform(1, 1.25)

    # The enrolment

    def _enrolled_key(self):
        state = self._state
        if state.get("stage") == "enrolled":
            return state["key_id"]
        self._check_wait(state)
        has_new_key = False
        while True:
            try:
                self._step(state)
            except (DeviceError, Refused, OSError) as error:
                remedy, retry_after, limit = self._remedy(error)
                self._note(self.PHASES[state.get("stage")], error, state.get("failures", 0) + 1)
                if remedy == "new_key" and not has_new_key:
                    has_new_key = True
                    self._restart(state)
                    continue
                retry = error.retry if isinstance(error, Refused) else {}
                self._note_failure(state, remedy, retry_after, limit, retry)
                # No other request may come before the wait is over.
                self._tell_failure()
                raise
            self._save(state)
            if state["stage"] == "enrolled":
                return state["key_id"]

    def _check_wait(self, state):
        """Raises TryLater while nothing may be tried.

        If the clock was set back since the wait began, nobody knows how much of it is over, so it
        begins anew: once, and never for longer than it was.
        """
        now = self._now()
        if state.get("waits_until", 0) <= now:
            return
        anew = now + state.get("wait_length", 0)
        if anew < state["waits_until"]:
            state["waits_until"] = anew
            self._save(state)
        if state["waits_until"] > now:
            raise TryLater(state["waits_until"])

    def _step(self, state):
        stage = state.get("stage")
        if stage is None:
            state.update(key_id=self._device.generate_key(), stage="made")
        elif stage == "made":
            challenge = self._fetch_challenge("attest/challenge", state["key_id"])
            state.update(challenge=challenge, stage="challenged")
        elif stage == "challenged":
            digest = hashlib.sha256(state["challenge"].encode()).digest()
            attestation = self._device.attest_key(state["key_id"], digest)
            state.update(attestation=base64.b64encode(attestation).decode(), stage="attested")
        else:
            self._verify(
                state, {name: state[name] for name in ("key_id", "attestation", "challenge")})

    def _verify(self, state, members):
        answer = self._exchange(
            "POST", f"{self._base}attest/verify", {"Content-Type": "application/json"},
            json.dumps(members).encode())
        refusal = answer.refusal()
        if refusal:
            raise refusal
        if answer.status != 200:
            raise UnexpectedAnswer(f"attest/verify: {answer.status}")
        for name in (
                "attestation", "chain", "challenge", "failures", "waits_until", "wait_length"):
            state.pop(name, None)
        state["stage"] = "enrolled"

    def _remedy(self, error):
        if isinstance(error, DeviceError):
            if error.code in OF_THE_KEY | {"invalid_input"}:
                return "new_key", None, 0
            return "wait", None, self.ENROLMENT_WAIT_MAX
        if isinstance(error, Refused):
            if error.action == "retry_later":
                return "wait", error.retry_after, self.ENROLMENT_WAIT_MAX
            if error.action in ("attest_again", "fetch_challenge", "sign_again"):
                return "new_key", None, 0
            return "wait", self.ENROLMENT_WAIT_MAX, self.ENROLMENT_WAIT_MAX
        return "wait", None, self.WAIT_MAX

    def _note_failure(self, state, remedy, retry_after, limit, retry):
        state["failures"] = state.get("failures", 0) + 1
        if remedy == "new_key":
            self._restart(state)
            wait = retry.get("new_key_after", self.NEW_KEY_INTERVAL)
        else:
            wait = self._wait(state["failures"], retry_after, limit, retry)
        # The length shows whether the clock was set back since.
        state.update(waits_until=self._now() + wait, wait_length=wait)
        self._save(state)

    def _give_up_key(self, key_id, interval=None):
        """Forgets a key, unless another request has done that already.

        False if another was given up within the hour: Apple counts keys.
        """
        if self._state.get("key_id") != key_id:
            return True
        now = self._now()
        interval = self.NEW_KEY_INTERVAL if interval is None else interval
        if abs(now - self._state.get("renewed_at", float("-inf"))) < interval:
            return False
        self._forget_key()
        return True

    def _forget_key(self):
        self._state.clear()
        self._state["renewed_at"] = self._now()
        self._challenge = None
        self._save(self._state)

    @staticmethod
    def _restart(state):
        for name in ("stage", "key_id", "challenge", "attestation", "chain"):
            state.pop(name, None)


class AndroidClient(Client):
    """The same for Android's Keystore, which makes each key for a challenge.

    The device's generate_key(challenge) makes a key, given the bytes for setAttestationChallenge,
    and returns its ID and its certificates in DER, leaf first; sign(key_id, client_data) returns
    the signature, ECDSA with SHA-256 in DER.
    """

    PHASES = {None: "challenge", "challenged": "key", "attested": "verify"}
    # Keystore takes no longer challenge.
    CHALLENGE_MAX = 128

    def _proof(self, key_id, client_data):
        return self._device.sign(key_id, client_data)

    def _step(self, state):
        stage = state.get("stage")
        if stage is None:
            # No key is named, because there is none yet.
            state.update(challenge=self._fetch_challenge("attest/challenge"), stage="challenged")
        elif stage == "challenged":
            challenge = state["challenge"].encode()
            if len(challenge) > self.CHALLENGE_MAX:
                challenge = hashlib.sha256(challenge).digest()
            key_id, chain = self._device.generate_key(challenge)
            state.update(
                key_id=key_id, chain=[base64.b64encode(der).decode() for der in chain],
                stage="attested")
        else:
            self._verify(state, {
                "platform": "android",
                **{name: state[name] for name in ("key_id", "chain", "challenge")}})
