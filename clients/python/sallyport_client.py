"""A client of a Sallyport gateway: enrols, signs, and follows refusals. Standard library only.

It is for tests and for the CI of servers, not for apps. What it does, every client does, as
docs/client/behaviour.md says. The device is the caller's: an object with is_supported,
generate_key(), attest_key(key_id, hash) and generate_assertion(key_id, hash), which raise
DeviceError; for AndroidClient, one with is_supported, generate_key(challenge) and
sign(key_id, client_data).
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

    kind: transient, lost, input, unsupported or unknown; by default what the code means.
    """

    def __init__(self, code, kind=None):
        super().__init__(code)
        self.code = code
        self.kind = kind or KINDS.get(code, "unknown")

    def may_blame_key(self):
        return self.kind not in ("transient", "unsupported")


class Unsupported(Exception):
    """This device cannot attest keys, as far as is known."""


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
# The kinds of failures. All others are unknown.
KINDS = {
    "server_unavailable": "transient", "feature_unsupported": "unsupported",
    "unsupported": "unsupported", "invalid_input": "input", "invalid_key": "lost",
    "key_permanently_invalidated": "lost", "key_missing": "lost",
}
# The steps of the device, rather than of the network, which the gateway hears of otherwise.
DEVICE_PHASES = {"support", "key", "attest", "assert"}
# They may be repeated although the API may have got them.
REPEATABLE = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}


class UnexpectedAnswer(OSError):
    """Something else than the gateway has answered, or not as it does."""


def failure_code(error):
    """What X-App-Attest-Failure calls an error."""
    if isinstance(error, DeviceError):
        return DEVICE_CODES.get(error.code, "other")
    if isinstance(error, Unsupported):
        return "unsupported"
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


class Challenges:
    """The challenges that answers brought, each for one request."""

    # More requests are hardly under way at once.
    COUNT_MAX = 64
    # The seconds that a request may need to reach the gateway.
    MARGIN = 10

    def __init__(self):
        self._kept = []
        # The seconds that a challenge lives, as the gateway last stated them.
        self.lifetime = 120

    def keep(self, token, now):
        if token:
            self._kept.append((token, now + self.lifetime - self.MARGIN))
            self._kept = self._kept[-self.COUNT_MAX:]

    def take(self, now):
        """Takes out the newest one; None if none is worth trying."""
        while self._kept:
            token, until = self._kept.pop()
            # A longer life than any means that the clock was set back.
            if 0 < until - now <= self.lifetime:
                return token
        return None

    def clear(self):
        self._kept = []


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
    failures; None tells nothing. ticket: what keep_ticket was called with last, also if the state
    was lost since, as by a reinstall; a new key then takes the place of the old one.
    sends_unproved: True if a request that cannot be proved now goes without a proof, for the
    gateway to decide; one that enforces refuses it, and the reason is raised. chance: called for a
    number from 0 to 1.

    It sends no DeviceCheck tokens, signs no bodies, and binds session tokens to no header.
    """

    ATTEMPTS_MAX = 3
    WAIT_MAX = 10
    ENROLMENT_WAIT_MAX = 6 * 3600
    NEW_KEY_INTERVAL = 3600
    # The longest wait for another key, unless the gateway advises a longer one.
    KEY_WAIT_MAX = 24 * 3600
    # How often a key may fail to sign in a row before it is given up: some never sign again.
    SIGN_FAILURES_MAX = 3
    # How much of a session token's life is used; the rest is for requests on their way.
    TOKEN_SHARE = 0.9

    def __init__(
            self, transport, device, state=None, save=lambda state: None, base="/",
            now=time.time, sleep=time.sleep, about=(), sends_unproved=True, ticket=None,
            keep_ticket=lambda ticket: None, chance=random.random):
        self._transport = transport
        self._device = device
        self._state = state if state is not None else {}
        self._save = save
        self._base = base
        self._now = now
        self._sleep = sleep
        self._chance = chance
        self._challenges = Challenges()
        # The session token: its text, the end of its use and the key that paid for it.
        self._token = None
        self._ticket = ticket
        self._keep_ticket = keep_ticket
        self._sends_unproved = sends_unproved
        self._about = about if about is None else dict(about)
        # What failed and was not told yet: its phase, and the header.
        self._failure = None
        self._has_told_unsupported = False
        # What an enrolment is about to do.
        self._phase = None
        self._turn = threading.RLock()

    def send(self, method, target, body=b"", headers=None, proof="assertion"):
        """Returns the API's Answer. proof: assertion or token.

        Raises Refused, TryLater, Unsupported, DeviceError or OSError.
        """
        # As it is signed.
        return self._deliver(
            method.upper(), target, body, headers or {}, proof, self._sends_unproved)[0]

    def _deliver(self, method, target, body, headers, proof, sends_unproved):
        """The answer, and the ID of the key that proved the request."""
        attempt = 1
        while True:
            with self._turn:
                reason = None
                try:
                    key_id, fields = self._proved(method, target, body, proof)
                except (DeviceError, Refused, TryLater, Unsupported, UnexpectedAnswer) as error:
                    # What the network fails to carry now, it would not carry unproved either.
                    if not sends_unproved:
                        raise
                    key_id, fields, reason = None, {}, error
                try:
                    answer = self._exchange(method, target, {**headers, **fields}, body)
                except OSError as error:
                    self._note("request", error)
                    raise
            refusal = answer.refusal()
            if refusal is None:
                return answer, key_id
            # The gateway insists on a proof. Why there is none says more than that.
            if reason and refusal.action in ("sign_again", "fetch_challenge", "attest_again"):
                raise reason
            if refusal.code == "assertion_required":
                proof = "assertion"
            if refusal.code == "token_invalid":
                self._give_up_token(fields.get("X-App-Attest-Token"))
            attempts_max = min(refusal.retry.get("max", self.ATTEMPTS_MAX - 1), 9) + 1
            if attempt >= attempts_max or not self._resolve(
                    refusal, key_id, method, attempt):
                raise refusal
            attempt += 1

    def enrol(self):
        """Enrols a key unless there is one. Returns the key ID."""
        with self._turn:
            self._require_support()
            return self._enrolled_key()

    def reset(self):
        """Forgets the key and every wait. The next request enrols another key.

        This is not for the handling of errors: the client replaces a key that is of no use by
        itself, and Apple counts the keys of a device.
        """
        with self._turn:
            self._forget_key()

    # The request

    def _proved(self, method, target, body, proof):
        """The key ID, and the headers that prove the request."""
        self._require_support()
        if proof == "assertion":
            return self._signed(method, target, body)
        token, _, key_id = self._token = self._current_token() or self._fetch_token()
        return key_id, {"X-App-Attest-Token": token}

    def _require_support(self):
        if not self._device.is_supported:
            if not self._has_told_unsupported:
                self._has_told_unsupported = True
                self._note("support", Unsupported())
            raise Unsupported()
        if self._state.get("unsupported") and self._waits_until() is not None:
            raise Unsupported()

    def _current_token(self):
        return self._token if self._token and self._token[1] > self._now() else None

    def _fetch_token(self):
        target = f"{self._base}assert/token"
        answer, key_id = self._deliver(
            "POST", target, b"", {"Accept": "application/json"}, "assertion", False)
        members = self._members(answer, target)
        try:
            until = self._now() + members["expires_in"] * self.TOKEN_SHARE
            return members["token"], until, key_id
        except (KeyError, TypeError) as error:
            raise UnexpectedAnswer(f"{target}: no token") from error

    def _give_up_token(self, text):
        """Forgets a token that was refused, unless it was replaced already."""
        if self._token and self._token[0] == text:
            self._token = None

    def _signed(self, method, target, body):
        """The key ID, and the headers with an assertion."""
        key_id = self._enrolled_key()
        try:
            return key_id, self._signed_by(key_id, method, target, body)
        except DeviceError as error:
            failures = self._state.get("failures", 0)
            if error.kind != "lost" and not (
                    error.may_blame_key() and failures >= self.SIGN_FAILURES_MAX):
                raise
            if not self._give_up_key(key_id, {}):
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
            if error.may_blame_key():
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
        try:
            kept = self._challenges.take(self._now())
            return kept or self._fetch_challenge("assert/challenge", key_id)
        except (Refused, OSError) as error:
            self._note("challenge", error)
            raise

    def _fetch_challenge(self, path, key_id=None):
        target = self._base + path
        if key_id:
            # The other alphabet of base64 needs no escapes in a query.
            target += "?key_id=" + key_id.translate(str.maketrans("+/", "-_")).rstrip("=")
        answer = self._transmit("GET", target, {"Accept": "application/json"}, b"")
        members = self._members(answer, path)
        lifetime = members.get("expires_in")
        if isinstance(lifetime, (int, float)):
            self._challenges.lifetime = min(lifetime, SECONDS_MAX)
        advice = retry_advice(members.get("retry"))
        if advice and path == "attest/challenge":
            self._state["advice"] = advice
        if not isinstance(members.get("challenge"), str):
            raise UnexpectedAnswer(f"{path}: no challenge")
        return members["challenge"]

    @staticmethod
    def _members(answer, name):
        """The JSON object of an answer of the gateway."""
        refusal = answer.refusal()
        if refusal:
            raise refusal
        try:
            members = json.loads(answer.body) if answer.status == 200 else None
        except ValueError:
            members = None
        if not isinstance(members, dict):
            raise UnexpectedAnswer(f"{name}: {answer.status}")
        return members

    def _exchange(self, method, target, headers, body):
        key_id = self._state.get("key_id")
        answer = self._transmit(method, target, headers, body)
        # A challenge for a key that was replaced meanwhile is useless.
        if key_id == self._state.get("key_id"):
            self._challenges.keep(answer.headers.get("x-app-attest-challenge"), self._now())
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
        if refusal.action == "attest_again":
            with self._turn:
                return self._give_up_key(key_id, refusal.retry)
        if refusal.action in ("sign_again", "fetch_challenge"):
            wait = refusal.retry.get("after", 0)
        elif refusal.action == "retry_later":
            wait = self._wait(attempt, refusal.retry_after, self.WAIT_MAX, refusal.retry)
        else:
            return False
        # A wait's random part may exceed the limit by a quarter.
        if wait > self.WAIT_MAX * 1.25 or not self._may_repeat(refusal, method):
            return False
        if wait > 0:
            self._sleep(wait)
        return True

    @staticmethod
    def _may_repeat(refusal, method):
        """False if the API may have got the request, and another one would take effect twice."""
        has_arrived = refusal.code in ("upstream_failed", "upstream_timeout") or (
            refusal.code == "assertion_replayed" and refusal.assertion != "unspent")
        return not has_arrived or method in REPEATABLE

    def _wait(self, failures, retry_after, limit, retry):
        first = retry.get("after", 1)
        factor = min(max(retry.get("backoff", 2), 1), 10)
        longest = max(retry.get("longest", limit), first)
        longer = min(first * factor ** min(failures - 1, 30), longest)
        return max(retry_after or 0, longer) * (1 + self._chance() / 4)

    # The enrolment

    def _enrolled_key(self):
        state = self._state
        if state.get("stage") == "enrolled":
            return state["key_id"]
        self._check_wait(state)
        while True:
            try:
                self._step(state)
            except (DeviceError, Refused, OSError) as error:
                remedy, retry_after, limit = self._remedy(error)
                self._note(self._phase, error, state.get("failures", 0) + 1)
                if remedy == "new_key" and not state.get("useless_keys"):
                    self._restart(state)
                    continue
                self._note_failure(state, error, remedy, retry_after, limit)
                # No other request may come before the wait is over.
                self._tell_failure()
                if isinstance(error, DeviceError) and error.kind == "unsupported":
                    raise Unsupported() from error
                raise
            self._save(state)
            if state["stage"] == "enrolled":
                return state["key_id"]

    def _check_wait(self, state):
        """Raises TryLater while nothing may be tried."""
        until = self._waits_until()
        if until is not None:
            raise TryLater(until)

    def _waits_until(self):
        """The end of the wait; None if it is over.

        If the clock was set back since the wait began, it is not known how much of it is over, so
        it begins anew: once, and never for longer than it was.
        """
        state, now = self._state, self._now()
        if state.get("waits_until", 0) <= now:
            return None
        anew = now + state.get("wait_length", 0)
        if anew < state["waits_until"]:
            state["waits_until"] = anew
            self._save(state)
        return state["waits_until"] if state["waits_until"] > now else None

    def _step(self, state):
        stage = state.get("stage")
        if stage is None:
            self._phase = "key"
            state.update(key_id=self._device.generate_key(), stage="made")
        elif stage == "made":
            self._phase = "challenge"
            challenge = self._fetch_challenge("attest/challenge", state["key_id"])
            state.update(challenge=challenge, stage="challenged")
        elif stage == "challenged":
            self._phase = "attest"
            digest = hashlib.sha256(state["challenge"].encode()).digest()
            attestation = self._device.attest_key(state["key_id"], digest)
            state.update(attestation=base64.b64encode(attestation).decode(), stage="attested")
        else:
            self._verify(
                state, {name: state[name] for name in ("key_id", "attestation", "challenge")})

    def _verify(self, state, members):
        self._phase = "verify"
        if self._ticket:
            members = {**members, "installation": self._ticket}
        answer = self._exchange(
            "POST", f"{self._base}attest/verify", {"Content-Type": "application/json"},
            json.dumps(members).encode())
        refusal = answer.refusal()
        if refusal:
            raise refusal
        if answer.status != 200:
            raise UnexpectedAnswer(f"attest/verify: {answer.status}")
        self._take_ticket(answer)
        for name in (
                "attestation", "chain", "challenge", "failures", "useless_keys",
                "unknown_failures", "waits_until", "wait_length", "unsupported"):
            state.pop(name, None)
        state["stage"] = "enrolled"

    def _take_ticket(self, answer):
        """Takes the next ticket. A gateway of an earlier version gives none."""
        try:
            ticket = json.loads(answer.body)["installation"]
        except (ValueError, KeyError, TypeError):
            return
        if isinstance(ticket, str):
            self._ticket = ticket
            self._keep_ticket(ticket)

    def _remedy(self, error):
        """new_key, wait or give_up; then Retry-After, and the longest wait."""
        if isinstance(error, DeviceError):
            if error.kind in ("lost", "input"):
                return "new_key", None, 0
            if error.kind == "unsupported":
                return "give_up", None, 0
            if error.kind == "unknown" and "key_id" in self._state:
                count = self._state.get("unknown_failures", 0)
                if count >= self.SIGN_FAILURES_MAX:
                    return "new_key", None, 0
                self._state["unknown_failures"] = count + 1
            return "wait", None, self.ENROLMENT_WAIT_MAX
        if isinstance(error, Refused):
            if error.action == "retry_later":
                return "wait", error.retry_after, self.ENROLMENT_WAIT_MAX
            if error.action in ("attest_again", "fetch_challenge", "sign_again"):
                return "new_key", None, 0
            return "give_up", None, 0
        # Being offline is no reason for a long wait.
        is_online = isinstance(error, UnexpectedAnswer)
        return "wait", None, self.ENROLMENT_WAIT_MAX if is_online else self.WAIT_MAX

    def _note_failure(self, state, error, remedy, retry_after, limit):
        state["failures"] = state.get("failures", 0) + 1
        state["unsupported"] = isinstance(error, DeviceError) and error.kind == "unsupported"
        retry = error.retry if isinstance(error, Refused) else {}
        if isinstance(error, DeviceError):
            retry = state.get("advice", {})
        if remedy == "new_key":
            self._restart(state)
            wait = self._key_wait(state["useless_keys"], self._key_interval(retry))
        elif remedy == "wait":
            wait = self._wait(state["failures"], retry_after, limit, retry)
        else:
            is_refused = isinstance(error, Refused)
            advice = retry if is_refused else {}
            wait = advice.get("after", self.ENROLMENT_WAIT_MAX)
        # The length shows whether the clock was set back since.
        state.update(waits_until=self._now() + wait, wait_length=wait)
        self._save(state)

    def _key_interval(self, retry):
        """The seconds before a second new key may be made."""
        advice = retry or self._state.get("advice", {})
        return advice.get("new_key_after", self.NEW_KEY_INTERVAL)

    def _key_wait(self, useless_keys, interval):
        """The seconds before another key, after so many useless ones in a row.

        The first of them was replaced at once. The cause may last, and Apple counts keys, so each
        further one doubles the wait.
        """
        longer = min(interval * 2 ** min(useless_keys - 2, 30), self.KEY_WAIT_MAX)
        return max(longer, interval)

    def _give_up_key(self, key_id, retry):
        """Forgets a key, unless another request has done that already.

        False if another was given up within the hour: Apple counts keys.
        """
        if self._state.get("key_id") != key_id:
            return True
        since = abs(self._now() - self._state.get("renewed_at", float("-inf")))
        if since < self._key_interval(retry):
            return False
        self._forget_key()
        return True

    def _forget_key(self):
        kept = {name: self._state[name] for name in ("advice",) if name in self._state}
        self._state.clear()
        self._state.update(kept, renewed_at=self._now())
        self._challenges.clear()
        self._token = None
        self._save(self._state)

    @staticmethod
    def _restart(state):
        """Forgets a key that turned out to be useless before it was enrolled."""
        state["useless_keys"] = state.get("useless_keys", 0) + 1
        for name in (
                "stage", "key_id", "challenge", "attestation", "chain", "unknown_failures"):
            state.pop(name, None)


class AndroidClient(Client):
    """The same for Android's Keystore, which makes each key for a challenge.

    The device's generate_key(challenge) makes a key, given the bytes for setAttestationChallenge,
    and returns its ID and its certificates in DER, leaf first; sign(key_id, client_data) returns
    the signature, ECDSA with SHA-256 in DER.
    """

    # Keystore takes no longer challenge.
    CHALLENGE_MAX = 128

    def _proof(self, key_id, client_data):
        return self._device.sign(key_id, client_data)

    def _step(self, state):
        if state.get("stage") == "attested":
            return self._verify(state, {
                "platform": "android",
                **{name: state[name] for name in ("key_id", "chain", "challenge")}})
        self._phase = "challenge"
        # No key is named, because there is none yet.
        token = self._fetch_challenge("attest/challenge")
        challenge = token.encode()
        if len(challenge) > self.CHALLENGE_MAX:
            challenge = hashlib.sha256(challenge).digest()
        self._phase = "key"
        key_id, chain = self._device.generate_key(challenge)
        state.update(
            key_id=key_id, chain=[base64.b64encode(der).decode() for der in chain],
            challenge=token, stage="attested")
