"""Puts clients on trial that do one thing wrong each, and prints their score cards as JSON:

    naive_clients.py LAB GATEWAY FILES ROOT APP

GATEWAY: HOST:PORT. FILES: the first part of the names of the devices' files. The rest is as for
trial.py.
"""

import concurrent.futures
import email.utils
import http.client
import json
import subprocess
import sys
import time

import sallyport_client
import trial

# Most of the time is spent in waits.
AT_ONCE = 18
# For a client that never ends its trial.
SILENT_SECONDS = 8


class Retry:
    """Sends a request once more, signed anew, if `is_failed(answer, error)`."""

    def send(self, *words):
        answer = error = None
        try:
            answer = super().send(*words)
        except (sallyport_client.Refused, OSError) as caught:
            error = caught
        if self.is_failed(answer, error):
            return super().send(*words)
        if error:
            raise error
        return answer


def retry(is_failed):
    return type("Retries", (Retry,), {"is_failed": lambda self, *words: is_failed(*words)}), None


def refused(code):
    return retry(lambda answer, error: getattr(error, "code", None) == code)


def broken(cause):
    return retry(lambda answer, error: isinstance(getattr(error, "__cause__", None), cause))


def is_old(answer, error):
    date = answer.headers.get("date") if answer else None
    return date and email.utils.parsedate_to_datetime(date).timestamp() < time.time() - 3600


class NoWait:
    def _check_wait(self, state):
        pass


class KeyForLostAnswer:
    def _remedy(self, error):
        if isinstance(error, ConnectionError):
            self._restart(self._state)
            # It is careless in nothing else: to the client's own mind no key was useless.
            self._state.pop("useless_keys")
        return super()._remedy(error)


class SameChain:
    def _remedy(self, error):
        is_expired = getattr(error, "code", None) == "challenge_expired"
        return ("wait", 0, self.WAIT_MAX) if is_expired else super()._remedy(error)


class WarmUp:
    """Sends the first request without a proof, to see what comes."""

    def send(self, method, target, body=b"", headers=None):
        self.enrol()
        if not getattr(self._device, "is_warm", False):
            self._device.is_warm = True
            self._exchange(method, target, {}, body)
        return super().send(method, target, body, headers)


def forgets_challenge(status):
    class Forgetful:
        def _exchange(self, *words):
            answer = super()._exchange(*words)
            if answer.status == status:
                self._challenges.clear()
            return answer
    return Forgetful, None


class Stubborn:
    ATTEMPTS_MAX = 6


class GivesUpAtOnce:
    ATTEMPTS_MAX = 1


class SameBytes:
    """Sends the same bytes again when the connection ends."""

    def __init__(self, transport, *words, **more):
        def twice(*request):
            try:
                return transport(*request)
            except ConnectionError as error:
                if request[1] != "/api/trial" or not isinstance(
                        error.__cause__, http.client.RemoteDisconnected):
                    raise
                return transport(*request)
        super().__init__(twice, *words, **more)


def resolves(code, value):
    class Resolves:
        def _resolve(self, refusal, *words):
            return value if refusal.code == code else super()._resolve(refusal, *words)
    return Resolves, None


class IgnoresAdvice:
    def _exchange(self, *words):
        answer = super()._exchange(*words)
        refusal = answer.refusal()
        if refusal:
            refusal.retry = {}
            answer.refusal = lambda: refusal
        return answer


class Follows:
    def send(self, method, target, body=b"", headers=None):
        answer = super().send(method, target, body, headers)
        if answer.status == 307:
            target = answer.headers["location"]
            _, proof = self._signed(method, target, body)
            return self._exchange(method, target, proof, body)
        return answer


class LosesTicketWithKey:
    def _forget_key(self):
        self._ticket = None
        super()._forget_key()


class KeyForEachRefusal:
    def _key_interval(self, retry):
        return 0


class TellsTicket:
    def _exchange(self, method, target, headers, body):
        if self._ticket:
            headers = {**headers, "X-Installation": self._ticket}
        return super()._exchange(method, target, headers, body)


class Boaster:
    """Sends no proof, and says that all is well."""

    def _signed(self, *words):
        self.enrol()
        return None, {"X-Trial": "over", "X-Trial-Result": "passed"}


class SavesNothing(trial.Player):
    def restart(self):
        self.saved = {}
        super().restart()


class LosesTicket(trial.Player):
    def reinstall(self):
        self.ticket = None
        super().reinstall()


class EnrolsAtEachStart(trial.Player):
    """After a reinstall it saves nothing."""
    is_forgetful = False

    def reinstall(self):
        self.is_forgetful = True

    def send(self, number):
        if self.is_forgetful:
            super().reinstall()
        return super().send(number)


class Silent(trial.Player):
    """Enrols, and sends nothing."""

    def play(self):
        while True:
            try:
                self.client.enrol()
                return True
            except sallyport_client.TryLater as later:
                time.sleep(max(0, later.until - time.time()))
            except (sallyport_client.Refused, OSError):
                pass


# The clients: what differs in the client, and what in the program that runs it.
CLIENTS = {
    "does not wait to enrol": (NoWait, None),
    "makes a key for a lost answer": (KeyForLostAnswer, None),
    "sends an expired chain again": (SameChain, None),
    "tries without a proof first": (WarmUp, None),
    "ignores challenges of answers": forgets_challenge(200),
    "ignores challenges of refusals": forgets_challenge(401),
    "signs again for ever": (Stubborn, None),
    "never signs again": (GivesUpAtOnce, None),
    "repeats after a lost answer": broken(http.client.RemoteDisconnected),
    "repeats the bytes": (SameBytes, None),
    "repeats after a cut answer": broken(http.client.IncompleteRead),
    "repeats after upstream_failed": resolves("upstream_failed", True),
    "repeats after a page": retry(lambda answer, error: answer and answer.status == 503),
    "does not wait for a limit": resolves("rate_limited", True),
    "gives up at a limit": resolves("rate_limited", False),
    "does not wait for a store": resolves("store_unavailable", True),
    "ignores what an answer says about retries": (IgnoresAdvice, None),
    "takes advice for a refusal": retry(
        lambda answer, error: answer and "x-app-attest-action" in answer.headers),
    "repeats though too old": refused("app_outdated"),
    "repeats though refused for good": refused("distribution_not_allowed"),
    "repeats what it does not understand": retry(
        lambda answer, error: answer and b"something_new" in answer.body),
    "follows redirections": (Follows, None),
    "believes the server's clock": retry(is_old),
    "saves nothing": (None, SavesNothing),
    "keeps an unknown key": resolves("key_unknown", False),
    "loses the ticket with the key": (LosesTicketWithKey, None),
    "makes a key for each refusal": (KeyForEachRefusal, None),
    "loses the ticket": (None, LosesTicket),
    "enrols at each start": (None, EnrolsAtEachStart),
    "tells its ticket": (TellsTicket, None),
    "signs nothing": (Boaster, None),
    "sends nothing": (None, Silent),
}


def card(name, lab, gateway, files, root, app):
    mixin, player = CLIENTS[name]
    platform = "android" if "=" in app else "apple"
    seconds = SILENT_SECONDS if player is Silent else 900
    process = subprocess.Popen(
        [lab, "trial", "--gateway", gateway, "--platform", platform, "--json",
         "--seconds", f"{seconds}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    port = json.loads(process.stdout.readline())["port"]
    files += "." + name.replace(" ", "-").replace("'", "")
    kind, transport, device = trial.parts(port, lab, files, root, app)
    if mixin:
        kind = type(mixin.__name__, (mixin, kind), {})
    if not (player or trial.Player)(kind, transport, device).play():
        process.terminate()
    device.close()
    return json.loads(process.communicate()[0].splitlines()[-1])


def main(lab, gateway, files, root, app):
    names = [name for name in CLIENTS if "=" in app or CLIENTS[name][0] is not SameChain]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        cards = pool.map(lambda name: card(name, lab, gateway, files, root, app), names)
        print(json.dumps(dict(zip(names, cards))))


if __name__ == "__main__":
    main(*sys.argv[1:])
