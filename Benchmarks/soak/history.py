"""What clients saw, and what cannot be so: each challenge of a key is accepted at most once."""

import collections

UNKNOWN = None


class History:
    """One entry per request: who sent it, with which challenge, and the status it got."""

    def __init__(self):
        self.entries = []

    def add(self, key, challenge, nonce, status):
        """`nonce` names the request at the upstream, and is None if it was only asked about;
        `status` is UNKNOWN if no answer came."""
        self.entries.append((key, challenge, nonce, status))

    def faults(self, forwarded, allowed):
        """Sentences on what is wrong; `forwarded` counts the nonces that the upstream got."""
        found = []
        accepted = collections.Counter()
        arrived = collections.Counter()
        for key, challenge, nonce, status in self.entries:
            accepted[key, challenge] += status == 200
            if status is not UNKNOWN and status not in allowed:
                found.append(f"{nonce} got {status}")
            if nonce is None:
                continue
            arrived[key, challenge] += forwarded[nonce]
            if status == 200 and not forwarded[nonce]:
                found.append(f"{nonce} got 200 and never reached the upstream")
            if status in (401, 403) and forwarded[nonce]:
                found.append(f"{nonce} got {status} and reached the upstream")
        found += [f"{key} {challenge[:12]} accepted {count} times"
                  for (key, challenge), count in accepted.items() if count > 1]
        found += [f"{key} {challenge[:12]} forwarded {count} times"
                  for (key, challenge), count in arrived.items() if count > 1]
        return found

    def count(self):
        """How often each status was the answer."""
        return collections.Counter(status for *_, status in self.entries)


def canary():
    """Asserts that each fault is found, and that a right history has none."""
    def faults(entries, forwarded):
        history = History()
        for entry in entries:
            history.add("key", *entry)
        return history.faults(collections.Counter(forwarded), {200, 401, 503})

    assert not faults([("c", "a", 200), ("c", "b", 401), ("d", "e", UNKNOWN)], ["a", "e"])
    assert not faults([("c", None, 200), ("c", "a", 401)], [])
    assert "accepted 2" in faults([("c", None, 200), ("c", "a", 200)], ["a"])[0]
    assert "accepted 2" in faults([("c", "a", 200), ("c", "b", 200)], ["a", "b"])[0]
    assert "forwarded 2" in faults([("c", "a", UNKNOWN), ("c", "b", 200)], ["a", "b"])[0]
    assert "forwarded 2" in faults([("c", "a", 200)], ["a", "a"])[0]
    assert "never reached" in faults([("c", "a", 200)], [])[0]
    assert "reached" in faults([("c", "a", 401)], ["a"])[0]
    assert "got 500" in faults([("c", "a", 500)], [])[0]


if __name__ == "__main__":
    canary()
    print("each fault is found")
