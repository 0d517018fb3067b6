#!/usr/bin/env python3
"""Takes pictures of a status page: screenshots.py http://ADMIN FOLDER

The page, its refusals, stores and routes are those of the gateway at ADMIN. A gateway that has just
started has no history, so the counts of the last hour are made up here: always the same ones.
"""

import asyncio
import base64
import json
import math
import os
import random
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Tests", "Browser"))

from browser import Browser  # noqa: E402

APP = "ABCDE12345.com.example.app"


def columns(chance, rates, wave=0.0):
    """Counts of an hour for each bucket, around a rate per minute."""
    return {
        name: [
            max(0, round(rate * (1 + wave * math.sin(slot / 9)) * chance.uniform(0.8, 1.2)))
            for slot in range(60)
        ]
        for name, rate in rates.items()
    }


def times(chance, middle, counts):
    p50 = [round(middle * chance.uniform(0.93, 1.08), 3) for _ in counts]
    return {
        "count": counts,
        "p50_ms": p50,
        "p90_ms": [round(value * chance.uniform(1.5, 1.8), 3) for value in p50],
        "p99_ms": [round(value * chance.uniform(2.6, 3.6), 3) for value in p50],
    }


def made_up(status):
    """The same document, with a history."""
    chance = random.Random(13)
    history = status["history"]
    start = status["time_ms"] - 60 * 60_000
    history.update(range="hour", step_s=60, slots=60, slots_max=60, start_ms=start)
    rates = {
        "shop": {"verified": 310, "outdated_client": 14, "unknown_origin": 6, "invalid": 2,
                 "replayed": 0.6, "stale": 3},
        "api": {"verified": 460, "unknown_origin": 3, "invalid": 1, "stale": 4},
        "feed": {"verified": 240, "stale": 2},
        "legacy": {"verified": 95, "outdated_client": 70, "unknown_origin": 34, "invalid": 4},
        "trial": {"verified": 8, "lower_tier": 5, "invalid": 1},
        "health": {},
    }
    history["routes"] = []
    for route in status["routes"]:
        if route["kind"] != "route":
            continue
        buckets = columns(chance, rates.get(route["name"], {}), 0.22)
        judged = [sum(values) for values in zip(*buckets.values())] or [20] * 60
        bad = [sum(values) for values in zip(*(
            buckets[name] for name in buckets if name not in ("verified", "stale")))] or [0] * 60
        isObserved = route.get("mode") == "observe"
        zeros = [0] * 60
        history["routes"].append({
            "name": route["name"], "requests": judged, "refused": zeros if isObserved else bad,
            "would_be_refused": bad if isObserved else zeros, "server_errors": zeros,
            "buckets": buckets, "duration": times(chance, 9, judged)})
    good = {"verified": 340, "stale": 2}
    history["versions"] = [
        {"app": APP, "version": version, "buckets": columns(chance, rates, 0.22)}
        for version, rates in [
            ("4.2", {"verified": 520, "stale": 3}), ("4.1", good),
            ("4.3", {"verified": 41, "invalid": 22, "replayed": 2}),
            ("3.9", {"verified": 120, "outdated_client": 14}), ("unknown", {"verified": 24})]]
    counts = [sum(values) for values in zip(*(
        route["requests"] for route in history["routes"]))]
    history["verification"] = times(chance, 0.084, [count // 2 for count in counts])
    history["stores"] = [
        {"name": "counters", "duration": times(chance, 0.31, counts)},
        {"name": "registry", "duration": times(chance, 1.4, [count // 40 for count in counts])}]
    history["upstreams"] = [
        {"name": upstream["name"], "requests": counts, "failures": [0] * 60,
         "duration": times(chance, 7.2, counts)} for upstream in status["upstreams"]]
    history["funnel"] = {
        "challenges": [chance.randint(22, 31) for _ in range(60)],
        "attested": [chance.randint(20, 26) for _ in range(60)],
        "first_assertions": [chance.randint(19, 24) for _ in range(60)],
        "verified": counts,
    }
    status["gateway"]["connections"] = 1284
    status["gateway"]["uptime_s"] = 9 * 86400 + 5 * 3600
    status["keys"] = [{"app": APP, "environment": "production", "status": "active", "count": 48210},
                      {"app": APP, "environment": "production", "status": "revoked", "count": 37}]
    release = {name: sum(values) for name, values in next(
        each["buckets"] for each in history["versions"] if each["version"] == "4.3").items()}
    judged = sum(release.values())
    problem = {
        "level": "warning", "name": "version_refused",
        "text": f"{judged - release['verified']} of {judged} requests of version 4.3 of {APP} had "
                "no good proof in the last hour.",
        "remedy": "It is a bad release if other versions do well: the refusals below say why."}
    # A simulated Apple vouches for the demo's devices, which is not what a picture is about.
    status["problems"] = [problem]
    status["level"] = "warning"
    status["sentence"] = f"{problem['text']} {problem['remedy']}"
    return status


async def main(address, folder):
    async with Browser() as page:

        async def answer(parameters):
            with urllib.request.urlopen(parameters["request"]["url"]) as reply:
                status = made_up(json.load(reply))
            # As many in the second answer as a rate needs.
            main.asked += 1
            status["routes"][0]["requests"] += main.asked * 96
            body = base64.b64encode(json.dumps(status).encode()).decode()
            await page.call("Fetch.fulfillRequest", requestId=parameters["requestId"],
                            responseCode=200, body=body,
                            responseHeaders=[{"name": "Content-Type", "value": "application/json"}])

        main.asked = 0
        page.handlers["Fetch.requestPaused"] = answer
        await page.call("Fetch.enable", patterns=[{"urlPattern": "*/status.json*"}])
        for scheme in ("light", "dark"):
            await page.media(scheme, 1280, 1180)
            await page.open(address + "/")
            await page.until("Number(document.documentElement.dataset.polls) > 1")
            bottom = await page.run(
                "document.getElementById('routes').closest('section').getBoundingClientRect().bottom")
            await page.picture(
                f"{folder}/status-{scheme}.png",
                {"x": 0, "y": 0, "width": 1280, "height": bottom + 20, "scale": 1})
        height = await page.run("document.documentElement.scrollHeight")
        await page.media("light", 1280, height)
        await page.run("document.querySelector('.refusals details:nth-of-type(3)').open = true")
        box = await page.run("""(() => {
          const box = document.getElementById('refusals').closest('section').getBoundingClientRect();
          return {x: box.left - 12, y: box.top - 12, width: box.width + 24,
            height: Math.min(box.height, 620) + 24, scale: 1};
        })()""")
        await page.picture(f"{folder}/status-refusals.png", box)
        await page.media("dark", 390, 844)
        await page.polled()
        await page.picture(f"{folder}/status-phone.png")
        if os.environ.get("ALL"):
            await page.media("light", 1280, 1200)
            await page.polled()
            height = await page.run("document.documentElement.scrollHeight")
            await page.media("light", 1280, height)
            await page.picture(f"{folder}/all.png")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
