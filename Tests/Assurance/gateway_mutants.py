"""Turns one comparison of the gateway after another, and sees whether the model notices, or, for
the rules of Android's enrolments, whether a test fails.

    python3 gateway_mutants.py [NUMBER...]   # a build, and more
    python3 gateway_mutants.py --check       # only whether the source still has each comparison

All mutants are written into a copy of the repository, which is built once. GATEWAY_MUTANT then says
which of them a run of the histories has; without it, the copy decides as the gateway does. Exits
with 1 if the model disagrees with the gateway as it is, or if nobody notices a mutant that is not
named here as equivalent.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import decision_model
from android_rules import ANDROID, RULES

KEYSTORE = "Sources/KeyStore"
PROVER = "Sources/Gateway/Exchange/Prover"
ASSERTION = f"{PROVER}/Assertion"
REDIS = "Sources/RedisKeyStore"
TOKENS = "Sources/GatewayTokens"
JUDGEMENT = "Sources/Judgement/Judgement.swift"
SERVICES = "Sources/Gateway/Services/WorkerServices.swift"
# File, what stands in front, what it says, what the mutant says, and what stands behind. A mutant
# that says nothing lacks the statement.
DECISIONS = [
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "return ", "distance < windowSize", "distance <= windowSize", " ? nil"),
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "guard ", "counter > advance.floor", "counter >= advance.floor", " else"),
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "case .sameMark: return ", ".replayed", ".challengeSpent", ""),
    (f"{KEYSTORE}/Floors/FloorShard.swift",
     "if ", "clock - raisedAt[entry] >= life", "clock - raisedAt[entry] > life", " {"),
    (f"{KEYSTORE}/Floors/FloorShard.swift",
     "let floor = ", "max(known, settled[entry])", "settled[entry]", ""),
    (f"{ASSERTION}/VerifySignature.swift",
     "guard challenge.keyID == nil || ", "challenge.keyID == keyID", "challenge.keyID != keyID",
     " else"),
    (f"{ASSERTION}/AdvanceCounter.swift",
     "let counter = claim.counter, ", "counter <= floor.strict", "counter < floor.strict", ""),
    (f"{ASSERTION}/AdvanceCounter.swift",
     ".highest(of: keyID), ", "counter <= highest", "counter < highest", ""),
    (f"{PROVER}/VerifyAssertion.swift",
     "", "throw Refusal(.keyRevoked)", "break", ""),
    ("Sources/Gateway/Exchange/Judge/Cohort.swift",
     "if let keyID = ", "prover.proofFacts.keyID ?? keyIDBesideAssertion", "prover.proofFacts.keyID",
     " {"),
    (f"{REDIS}/CounterScript.swift", "if counts and counter ", "<=", "<", " floor then"),
    (f"{REDIS}/CounterScript.swift", "if tonumber(ARGV[7]) ", "<=", "<", " now then"),
    (f"{REDIS}/CounterScript.swift", "if kept ", ">=", "<", " floor then"),
    (f"{REDIS}/CounterScript.swift",
     "if lives and (ARGV[12] == 'whole'", " or not state", "", " or not counts) then"),
    (f"{REDIS}/IncarnationScript.swift", "and now ", "<=", "<", " last + "),
    (f"{REDIS}/IncarnationScript.swift", "or last ", ">=", "<", " tonumber(ARGV[4]) and"),
    (f"{REDIS}/CounterNode.swift", "if isChanged, ", "known.hadOne", "!known.hadOne", " {"),
    (f"{REDIS}/CounterNode.swift",
     "if verdict == .incarnationChanged, ", "call.incarnation == incarnation",
     "call.incarnation != incarnation", " {"),
    (f"{TOKENS}/SessionTokenSealer.swift",
     "guard ", "seconds < expiresAt", "seconds <= expiresAt", " else"),
    (f"{TOKENS}/SessionTokenSealer.swift",
     "guard ", "issuedAt <= seconds + Self.clockSkewSeconds",
     "issuedAt < seconds + Self.clockSkewSeconds", " else"),
    (f"{PROVER}/SessionToken/SessionTokens.swift",
     "", "ConstantTime.equals(present, binding)", "present != binding", " else"),
    (JUDGEMENT, "", "fault.reason == .storeUnavailable", "true", ", hasOpenToken {"),
    ("Sources/Policy/Rollout/Rollout.swift", "", "cohort < percent", "cohort <= percent", ""),
    (f"{TOKENS}/Challenge.swift", "guard ", "now < expiresAt", "now <= expiresAt", " else"),

    # Revocation, and keys that are or become known.
    (SERVICES, "case .keys(let keyIDs): ", "keyCache.invalidate(keyIDs)", None, ""),
    (SERVICES, "", "hub.unknownKeys.forget(change)", None, ""),
    (f"{REDIS}/CounterScript.swift", "if ", "revoked", "false", " then"),
    (f"{REDIS}/CounterNode.swift",
     "if verdict == .revoked { ", "lookLater(than: call)", None, " }"),
    (f"{ASSERTION}/AdvanceCounter.swift",
     "if let keyID = prover.proofFacts.keyID { ", "services.keyCache.invalidate([keyID])", None,
     " }"),
    # Observing routes and rollouts.
    (JUDGEMENT, "", "policy.mode == .observe", "false", " || !isEnforced(cohort)"),
    (JUDGEMENT, " || ", "!isEnforced(cohort)", "false", ""),
    # Challenges.
    (f"{ASSERTION}/VerifySignature.swift",
     "guard ", "challenge.purpose == .assertion", "true", " else"),
    (f"{ASSERTION}/VerifySignature.swift",
     "guard ", "challenge.incarnation == now.incarnation", "true", " else"),
    # Session tokens.
    (f"{TOKENS}/SessionTokenSealer.swift", "guard ", "audience.contains(route)", "true", " else"),
    ("Sources/Gateway/Endpoints/IssueToken.swift",
     "guard ", "site.settings.sessionTokens.boundHeader == nil", "true",
     " || prover.boundValueHash() != nil"),
    (JUDGEMENT, "if ", "policy.onStoreFailure == .tokensOnly", "true", ","),
    # Floors.
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "guard distance < min(", "Int(aboveFloor[entry])", "Int(aboveFloor[entry]) + 1",
     ", rings.bitCount) else"),
    (f"{KEYSTORE}/Floors/FloorShard.swift",
     "for entry in keys.indices { ", "settled[entry] = highest[entry]", None, " }"),
    (f"{KEYSTORE}/Floors/FloorShard.swift",
     "case .unheard: ", "unheard[entry] = max(unheard[entry], counter)", None, ""),
    (f"{KEYSTORE}/Floors/FloorTable.swift",
     "let kind: AcceptedCounter = ", "holds(keyID) ? .heard : .settled", ".heard", ""),
    (f"{ASSERTION}/AdvanceCounter.swift",
     "if claim.challenge == nil { ", "try checkAccepted(counter, of: claim.keyID)", None, " }"),
    # The life of an incarnation in Redis.
    (f"{REDIS}/CounterScript.swift", "and ", "noted >= tonumber(ARGV[10])", "true", ""),
    (f"{REDIS}/CounterScript.swift", "and ", "commands >= counted", "true", ""),
    (f"{REDIS}/CounterScript.swift", "and now ", ">=", ">", " noted - "),
    (f"{REDIS}/CounterScript.swift", "and now ", "<=", "<", " noted + "),
    (f"{REDIS}/IncarnationScript.swift", "and ", "commands >= counted", "true", ""),
    (f"{REDIS}/IncarnationScript.swift", "and ", "now >= tonumber(ARGV[5])", "true", ""),
    (f"{REDIS}/IncarnationScript.swift", "", "math.max(last, now)", "now", ""),
    (f"{REDIS}/CounterNode.swift", "if ", "loop.now >= lookDueAt", "loop.now > lookDueAt", ","),
    # Counters and spent challenges in Redis.
    (f"{REDIS}/CounterScript.swift", "if spent ", "==", "~=", " ARGV[4] then"),
    (f"{REDIS}/CounterScript.swift", "- now ", "+ tonumber(ARGV[8])", "", ")"),
    (f"{REDIS}/CounterScript.swift", "highest - counter ", ">=", ">", " tonumber(ARGV[5])"),
    (f"{REDIS}/CounterState.swift",
     "if #body >= 5 and ", "check(body) == string.sub(state, -4)", "true", " then"),

    # Keys of phones, which do not count.
    (f"{ASSERTION}/VerifySignature.swift",
     "if request.facts.uniqueness.counter == nil, ", "policy.challenge == .off", "false", " {"),
    (f"{KEYSTORE}/Embedded/CounterShard.swift",
     "case .otherMark: return ", ".challengeSpent", ".replayed", ""),
    (f"{REDIS}/CounterScript.swift", "local counts = ARGV[5] ", "~=", "==", " '"),
    (f"{ANDROID}/AndroidPlatform.swift",
     "mark: ", "UInt32(truncatingIfNeeded: evidence.digest.word0)", "0", ")"),
]
MUTANTS = DECISIONS + RULES
# Why a mutant decides the same, by its number.
EQUIVALENT = {}
# What each mutated file gets at its end.
CHOICE = """
import class Foundation.ProcessInfo

private let turnedNumber = ProcessInfo.processInfo.environment["GATEWAY_MUTANT"].flatMap { Int($0) }
private func isTurned(_ number: Int) -> Bool { turnedNumber == number }
"""
COPY = ".build/mutants"
# What judges mutants of decisions, and of rules. Other tests are not built.
HISTORIES, RULES_TESTS = "SimulationTests", "AndroidAttestationTests"
FILTER = "DecisionModelTests.agreement"
# Histories that are played until some notice: the first seed, how many with counters inside, and
# how many with Redis. What is for one kind of counters alone is not reached by the others.
ROUNDS = [(1, 8, 6), (101, 24, 20), (201, 80, 60), (401, 400, 200)]


def turned(path, number, old, new):
    """What says one or the other, as the number is chosen."""
    if new is None:
        return f"if !isTurned({number}) {{ {old} }}"
    if path.endswith("Script.swift"):
        return f'\\(isTurned({number}) ? "{new}" : "{old}")'
    return f"(isTurned({number}) ? {new} : {old})"


def is_rule(number):
    return number > len(DECISIONS)


def mutated(suites):
    """The files with all mutants in them, by their paths, and the manifest with these suites."""
    texts = {}
    for number, (path, before, old, new, after) in enumerate(MUTANTS, 1):
        if path not in texts:
            with open(path, encoding="utf-8") as file:
                texts[path] = file.read() + CHOICE
        line = before + old + after
        count = texts[path].count(line)
        if count != 1:
            sys.exit(f"gateway_mutants.py: {number}: {count} times in {path}: {line}")
        texts[path] = texts[path].replace(line, before + turned(path, number, old, new) + after)
    with open("Package.swift", encoding="utf-8") as file:
        others = rf'\n +tests\(\s*"(?!({"|".join(suites)})")[^)]*\),'
        texts["Package.swift"] = re.sub(others, "", file.read())
    return {path: text.encode() for path, text in texts.items()}


def copy(texts):
    """Makes the copy what the working tree is, but for `texts`. A file that is as it was keeps its
    time, so that it is not compiled again."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], check=True,
                            capture_output=True, text=True).stdout.split("\0")
    paths = {path for path in listed if os.path.isfile(path)}
    for path in paths:
        with open(path, "rb") as file:
            wanted = texts.get(path) or file.read()
        target = os.path.join(COPY, path)
        if os.path.exists(target):
            with open(target, "rb") as file:
                if file.read() == wanted:
                    continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(wanted)
        shutil.copymode(path, target)
    for folder, folders, names in os.walk(COPY):
        if ".build" in folders:
            folders.remove(".build")
        for name in names:
            target = os.path.join(folder, name)
            if os.path.relpath(target, COPY) not in paths:
                os.remove(target)


def run(*command, **variables):
    """The exit code and the words of a command in the copy."""
    done = subprocess.run(command, cwd=COPY, capture_output=True, text=True, check=False,
                          env={**os.environ, **variables})
    return done.returncode, done.stdout + done.stderr


def is_noticed(path):
    """Whether the model decides something in a transcript differently."""
    with open(path, encoding="utf-8") as file:
        return any(told != decided for _, told, decided in decision_model.replay(file))


def play(number, first, embedded, redis):
    """How many histories with a mutant there were, and how many of them the model noticed."""
    with tempfile.TemporaryDirectory() as folder:
        _, words = run("swift", "test", "--skip-build", "--filter", FILTER,
                       GATEWAY_MUTANT=str(number), DECISION_SEED=str(first),
                       DECISION_HISTORIES=str(embedded), DECISION_REDIS_HISTORIES=str(redis),
                       DECISION_FOLDER=folder)
        paths = list(decision_model.transcripts([folder]))
        if len(paths) < embedded + redis:
            print(f"{number}: histories were broken off:\n{words[-2000:]}", flush=True)
        return len(paths), sum(map(is_noticed, paths))


def fails_tests(number):
    """Whether a test of the rules fails with a mutant, or with none if `number` is 0."""
    status, _ = run("swift", "test", "--skip-build", "--filter", f"^{RULES_TESTS}\\.",
                    GATEWAY_MUTANT=str(number))
    return status != 0


def try_rule(number):
    """What came of a mutant of a rule, and whether that is as it should be."""
    if fails_tests(number):
        return "noticed by a test", True
    if number in EQUIVALENT:
        return f"equivalent, {EQUIVALENT[number]}", True
    return "no test notices", False


def try_mutant(number):
    """What came of a mutant, and whether that is as it should be."""
    if is_rule(number):
        return try_rule(number)
    total = 0
    path = MUTANTS[number - 1][0]
    for first, embedded, redis in ROUNDS:
        embedded = 0 if path.startswith(REDIS) else embedded
        redis = 0 if path.startswith(f"{KEYSTORE}/Embedded") else redis
        count, noticed = play(number, first, embedded, redis)
        total += count
        if noticed:
            return f"noticed by {noticed} of {total} histories", True
    if number in EQUIVALENT:
        return f"equivalent, {EQUIVALENT[number]}", True
    return f"nobody notices in {total} histories", False


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir))
    if sys.argv[1:] == ["--check"]:
        mutated([])
        return 0
    chosen = [int(word) for word in sys.argv[1:]] or range(1, len(MUTANTS) + 1)
    suites = {RULES_TESTS if is_rule(number) else HISTORIES for number in chosen}
    copy(mutated(suites))
    status, words = run("swift", "build", "--product", "sallyportPackageTests")
    if status:
        sys.exit("gateway_mutants.py: not built:\n" + words[-4000:])
    if HISTORIES in suites:
        count, noticed = play(0, *ROUNDS[0])
        if noticed or not count:
            sys.exit(f"gateway_mutants.py: {noticed} of {count} histories without a mutant "
                     "disagree")
    if RULES_TESTS in suites and fails_tests(0):
        sys.exit("gateway_mutants.py: a test of the rules fails without a mutant")
    failures = 0
    for number in chosen:
        outcome, is_good = try_mutant(number)
        failures += not is_good
        path, _, old, new, _ = MUTANTS[number - 1]
        print(f"{number}: {outcome}: {path}: {old} -> {new or 'nothing'}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} mutants found or equivalent")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
