"""Turns one comparison of the gateway after another, and sees whether the model notices.

    python3 gateway_mutants.py [NUMBER...]   # from the repository's root; some minutes a mutant

Each mutant is written into the working tree, built, tested and taken back, so the files have to be
as they are in the last commit. Exits with 1 if nobody notices one.
"""

import re
import subprocess
import sys

KEYSTORE = "Sources/KeyStore"
EXCHANGE = "Sources/Gateway/Exchange"
REDIS = "Sources/RedisKeyStore"
TOKENS = "Sources/GatewayTokens"
# File, what it says, and what the mutant says.
MUTANTS = [
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "return distance < windowSize ? nil", "return distance <= windowSize ? nil"),
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "guard advance.counter > advance.floor else", "guard advance.counter >= advance.floor else"),
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "case .sameCounter: return .replayed", "case .sameCounter: return .challengeSpent"),
    (f"{KEYSTORE}/Floors/FloorShard.swift",
     "if clock - raisedAt[entry] >= life {", "if clock - raisedAt[entry] > life {"),
    (f"{KEYSTORE}/Floors/FloorShard.swift",
     "let floor = max(known, settled[entry])", "let floor = settled[entry]"),
    (f"{EXCHANGE}/Proof/Assertion/VerifySignature.swift",
     "guard challenge.keyID == nil || challenge.keyID == keyID else",
     "guard challenge.keyID == nil || challenge.keyID != keyID else"),
    (f"{EXCHANGE}/AdvanceCounter.swift",
     "if windowSize == 1, claim.assertion.counter <= floor.strict",
     "if windowSize == 1, claim.assertion.counter < floor.strict"),
    (f"{EXCHANGE}/AdvanceCounter.swift",
     "claim.assertion.counter <= highest", "claim.assertion.counter < highest"),
    (f"{EXCHANGE}/VerifyAssertion.swift",
     "case .revoked: throw Refusal(.keyRevoked)", "case .revoked: break"),
    (f"{EXCHANGE}/Cohort.swift",
     "proofFacts.keyID ?? keyIDBesideAssertion", "proofFacts.keyID"),
    (f"{REDIS}/CounterScript.swift",
     "if counter <= floor then", "if counter < floor then"),
    (f"{REDIS}/CounterScript.swift",
     "if tonumber(ARGV[7]) <= now then", "if tonumber(ARGV[7]) < now then"),
    (f"{REDIS}/CounterScript.swift",
     "if kept >= floor then", "if kept < floor then"),
    (f"{REDIS}/CounterScript.swift",
     "if lives and (ARGV[12] == 'whole' or not state)", "if lives and (ARGV[12] == 'whole')"),
    (f"{REDIS}/IncarnationScript.swift",
     "and now <= last + ", "and now < last + "),
    (f"{REDIS}/IncarnationScript.swift",
     "last >= tonumber(ARGV[4]) and", "last < tonumber(ARGV[4]) and"),
    (f"{REDIS}/CounterNode.swift",
     "if isChanged, hadIncarnation {", "if isChanged, !hadIncarnation {"),
    (f"{REDIS}/CounterNode.swift",
     "if verdict == .incarnationChanged, let self, call.incarnation == incarnation {",
     "if verdict == .incarnationChanged, let self, call.incarnation != incarnation {"),
    (f"{TOKENS}/SessionTokenSealer.swift",
     "guard seconds < expiresAt else", "guard seconds <= expiresAt else"),
    (f"{TOKENS}/SessionTokenSealer.swift",
     "guard issuedAt <= seconds + Self", "guard issuedAt < seconds + Self"),
    (f"{EXCHANGE}/Proof/SessionToken/SessionTokens.swift",
     "ConstantTime.equals(present, binding) else", "present != binding else"),
    ("Sources/Judgement/Judgement.swift",
     "fault.reason == .storeUnavailable, hasOpenToken {", "hasOpenToken {"),
    ("Sources/Policy/Rollout/Rollout.swift", "cohort < percent", "cohort <= percent"),
    ("Sources/GatewayTokens/Challenge.swift", "guard now < expiresAt", "guard now <= expiresAt"),
]
FILTER = "DecisionModelTests.agreement"


def run(*command):
    """The exit code and the words of a command."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr)


def try_mutant(path, old, new):
    """How a mutant ended: "found", "not built" or "not found"."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        return f"stale: {text.count(old)} times in the file"
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        status, words = run("swift", "build", "--build-tests")
        if status:
            return "not built:\n" + words[-2000:]
        status, words = run("swift", "test", "--skip-build", "--filter", FILTER)
        is_found = status and re.search(r" requests, [1-9][\d,]* differences", words)
        return "found" if is_found else "not found"
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    paths = sorted({path for path, _, _ in MUTANTS})
    if run("git", "diff", "--quiet", "--", *paths)[0]:
        sys.exit("gateway_mutants.py: commit what was changed first: " + " ".join(paths))
    chosen = [int(word) for word in sys.argv[1:]] or range(1, len(MUTANTS) + 1)
    failures = 0
    for number in chosen:
        path, old, new = MUTANTS[number - 1]
        outcome = try_mutant(path, old, new)
        failures += outcome != "found"
        print(f"{number}: {outcome}: {path}: {new}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} mutants found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
