"""A fleet of devices on a clock that is stepped by minutes: Benchmarks/fleet.py --help

Prints what gateways, Redis and PostgreSQL have to bear on usual days and in each fault, and what
to buy for it. Counts, not devices, are simulated, so a hundred million take seconds.
"""

import argparse
import json
import math
import os

import charts
import formula

MINUTE, HOUR, DAY = 60, 3600, 86400

# Measured; docs/proof/benchmarks.md names machine and command of each.
VERIFICATION_US = 39.1
REDIS_REQUEST_US = 21
POSTGRES_ENROLMENTS, POSTGRES_FLOORS = 11_692, 93_469
# Settings whose defaults matter here; docs/settings.md.
CHALLENGE_TTL, FLOOR_REPORTS = 120, 8192
# How often answers let a client send a request again (`retry.max`; docs/client-guide.md).
RETRIES = 2
# Apple's: attestKey of one app, over all installations (its documentation, "under 100/s").
ATTESTATIONS = 100
# A core that is busier answers late in bursts, also Redis' one (docs/recipes/capacity.md).
BUSY = formula.BUSY_SHARE


class Fleet:
    """What is assumed about devices and their users. Rates are a second, of the whole fleet."""

    def __init__(self, given):
        self.given = given
        self.devices = given.devices
        self.requests_a_second = given.devices * given.active * given.requests / DAY
        self.sessions_a_second = given.devices * given.active * given.sessions / DAY
        self.update_seconds = given.update_days * DAY

    def daytime(self, second):
        """The load at a time of day beside the day's mean: a wave, highest at 20:00."""
        swing = self.given.peak - 1
        return 1 + swing * math.cos(2 * math.pi * (second - 20 * HOUR) / DAY)

    def requests(self, second):
        return self.requests_a_second * self.daytime(second)

    def sessions(self, second):
        return self.sessions_a_second * self.daytime(second)

    @property
    def peak_requests(self):
        return self.requests(20 * HOUR)

    @property
    def peak_sessions(self):
        return self.sessions(20 * HOUR)

    @property
    def handshakes(self):
        """TLS handshakes a second at the peak, by the kinds of the formula."""
        return {"ecdsa": self.peak_sessions * self.given.handshakes,
                "resumed": self.peak_sessions * self.given.resumed}

    @property
    def in_use(self):
        """Devices that were used within two challenge lifetimes, at the peak."""
        return min(self.devices, self.peak_sessions * (self.given.session_minutes * MINUTE
                                                       + 2 * CHALLENGE_TTL))


def enrolment(fleet):
    """An installed base updates to the release that attests: seconds until 99 % have enrolled, and
    the highest rate. `attest_rollout` grows so that Apple's limit is kept; who gets 429 comes back
    with the next session."""
    limit = min(fleet.given.attestations, ATTESTATIONS)
    waiting = enrolled = peak = 0.0
    second = 0
    series = []
    while enrolled < 0.99 * fleet.devices:
        # Who has the release and opens the app.
        ready = fleet.devices * (1 - math.exp(-second / fleet.update_seconds))
        waiting = ready - enrolled
        wanted = waiting * fleet.given.active * fleet.given.sessions / DAY * fleet.daytime(second)
        rate = min(limit, wanted)
        peak = max(peak, rate)
        enrolled = min(fleet.devices, enrolled + rate * 10 * MINUTE)
        second += 10 * MINUTE
        if second % DAY == 0:
            series.append((second / DAY, enrolled / fleet.devices * 100))
        if second > 20 * 366 * DAY:
            raise SystemExit("fleet: the base does not enrol within 20 years")
    return {"days": second / DAY, "peak": peak, "series": series}


def next_share(share, step):
    """The percentage after one step of `attest_rollout`."""
    moved = share * int(step[1:]) if step[0] == "x" else share + int(step[1:-1])
    return min(100, moved)


def rollout(fleet, step, hours, outage=None):
    """`attest_rollout` moves in a base that has the release already: seconds until 99 % have
    enrolled, and the highest rate that Apple is asked for. A step admits a whole share of devices
    at once, from the busiest hour on, and each comes when its app is next opened. In an `outage`,
    from one second to another, nobody can attest, and the schedule goes on."""
    share, enrolled, peak, second = 1, 0.0, 0.0, 0
    waiting = fleet.devices * share / 100
    left = fleet.devices - waiting
    openings = fleet.given.active * fleet.given.sessions / DAY
    while enrolled < 0.99 * fleet.devices:
        if second and second % (hours * HOUR) == 0 and share < 100:
            moved = fleet.devices * (next_share(share, step) - share) / 100
            share, waiting, left = next_share(share, step), waiting + moved, left - moved
        come = waiting * openings * fleet.daytime(second + 20 * HOUR) * MINUTE
        if outage and outage[0] <= second < outage[1]:
            come = 0.0
        waiting, enrolled = waiting - come, enrolled + come
        peak = max(peak, come / MINUTE)
        second += MINUTE
    return {"step": step, "hours": hours, "days": second / DAY, "peak": peak,
            "counted": enrolled + waiting + left}


def rollout_plan(fleet):
    """`x2` a day if it leaves Apple's limit a fifth of room, or else the fastest steps that do;
    None if no step is small enough."""
    room = 0.8 * min(fleet.given.attestations, ATTESTATIONS)
    usual = rollout(fleet, "x2", 24)
    if usual["peak"] <= room:
        return usual
    tried = (rollout(fleet, f"+{points}%", hours)
             for points in (10, 5, 2, 1) for hours in (24, 12, 6, 4, 2))
    return min((each for each in tried if each["peak"] <= room),
               key=lambda each: each["days"], default=None)


def rollout_outage(fleet, plan, hours=6):
    """Apple is down in the middle of that plan, at the worst of its hours: the highest rate that it
    is asked for afterwards, and by how many days the plan takes longer."""
    if plan is None:
        return None
    middle = int(plan["days"] / 2) * DAY
    tried = [rollout(fleet, plan["step"], plan["hours"], (start, start + hours * HOUR))
             for start in range(middle, middle + DAY, 2 * HOUR)]
    worst = max(tried, key=lambda each: each["peak"])
    return {"peak": worst["peak"], "longer": max(each["days"] for each in tried) - plan["days"]}


def renewals(fleet):
    """Renewals of receipts a second on average, and the days between two of one device."""
    # A key needs one exchange in 30 days; 20/s unless `receipts.rate` says otherwise.
    needed = fleet.devices / (28 * DAY)
    return {"rate": needed, "days": fleet.devices / fleet.given.receipts / DAY}


def redis_lost(fleet):
    """Redis comes back empty at the peak: every challenge that is out is refused once, and its
    device signs again with the challenge of the refusal. Whoever has closed the app does not
    notice: the next session begins with a fresh one anyway."""
    given = fleet.given
    session = given.session_minutes * MINUTE
    using = min(fleet.devices, fleet.peak_sessions * session)
    # Between two requests of one session.
    gap = session * given.sessions / given.requests
    again, second, peak, left = 0.0, 0, 0.0, using
    series = []
    while left > 0.01 * using and second < CHALLENGE_TTL:
        # A device comes back with the next request that it would have sent, and once more.
        came = left * (1 - math.exp(-1 / gap))
        left -= came
        again += came
        peak = max(peak, fleet.peak_requests + came)
        second += 1
        series.append((second, came))
    # What is left has expired meanwhile, and is refused for that.
    return {"using": using, "again": again, "expired": left, "seconds": second, "peak": peak,
            "series": series}


def redis_away(fleet, hours=1):
    """Redis does not answer around the peak: each request is told to come again once its signature
    was checked, and comes as often as the answer lets it. Afterwards who is in a session goes on,
    or signs again as in `redis_lost` where Redis has forgotten."""
    begin = 20 * HOUR - hours * HOUR // 2
    asked = sum(fleet.requests(second) for second in range(begin, begin + hours * HOUR))
    return {"told": asked * (1 + RETRIES), "peak": fleet.peak_requests * (1 + RETRIES)}


def postgres_failover(fleet, seconds=30):
    """The registry is away for half a minute: cached and enrolled keys go on; who enrols, and whose
    record no gateway holds, is told to come again."""
    cold = fleet.peak_sessions * (1 - fleet.given.cached)
    enrolments = fleet.given.new_a_month * fleet.devices / (30 * DAY) * fleet.given.peak
    return {"requests": fleet.peak_requests * seconds, "retry": (cold + enrolments) * seconds,
            "behind": fleet.peak_sessions * seconds / POSTGRES_FLOORS}


def apple_down(fleet, hours=6):
    """Nobody can attest: who has a key does not notice. New installations wait for their first key,
    and afterwards come back within Apple's limit."""
    waiting = fleet.given.new_a_month * fleet.devices / (30 * DAY) * hours * HOUR
    new = fleet.given.new_a_month * fleet.devices / (30 * DAY)
    spare = max(min(fleet.given.attestations, ATTESTATIONS) - new, 1e-9)
    return {"waiting": waiting, "seconds": waiting / spare}


def bad_release(fleet):
    """A release that signs wrongly reaches its users; the guard of a rollout holds at 5 % refused
    in 15 minutes, and the release is stopped an hour later."""
    affected = 1 - math.exp(-HOUR / fleet.update_seconds)
    # Until 5 % of the share's requests are refused.
    guarded = -math.log(1 - 0.05) * fleet.update_seconds + 15 * MINUTE
    return {"refused": fleet.peak_requests * affected, "guard_hours": guarded / HOUR,
            "devices": fleet.devices * (1 - math.exp(-(guarded + HOUR) / fleet.update_seconds))}


def sizes(fleet, lost):
    """What to buy: for the peak of a usual day, and so that the lost Redis is borne, too."""
    given = fleet.given
    verified = max(fleet.peak_requests, lost["peak"])
    # Nobody connects anew because Redis was lost.
    cores = formula.cores(
        verified, 0, VERIFICATION_US, redis=True, handshakes=fleet.handshakes)
    redis_cores = verified * REDIS_REQUEST_US / 1e6 / BUSY
    # One more of each than the load needs, and two at least.
    gateways = max(2, math.ceil(cores / given.cores) + 1)
    masters = max(1, math.ceil(redis_cores))
    floors = fleet.peak_sessions
    return {
        "cores": cores, "gateways": gateways, "masters": masters,
        "redis_bytes": formula.redis_memory(verified, fleet.devices, CHALLENGE_TTL),
        "postgres_bytes": formula.registry(fleet.devices),
        "gateway_bytes": formula.memory(
            verified / gateways, fleet.in_use / gateways, fleet.in_use / gateways,
            verified / gateways * 0.1, CHALLENGE_TTL, redis=True, workers=given.cores),
        "floors": floors, "postgres_share": floors / POSTGRES_FLOORS,
        "floor_share": floors / gateways / FLOOR_REPORTS,
    }


def simulate(given):
    fleet = Fleet(given)
    lost = redis_lost(fleet)
    plan = rollout_plan(fleet)
    return {
        "devices": fleet.devices, "requests": fleet.requests_a_second,
        "peak": fleet.peak_requests, "sessions": fleet.peak_sessions,
        "handshakes": sum(fleet.handshakes.values()),
        "enrolment": enrolment(fleet), "doubled": rollout(fleet, "x2", 24),
        "plan": plan, "rollout_outage": rollout_outage(fleet, plan),
        "renewals": renewals(fleet), "redis_lost": lost, "redis_away": redis_away(fleet),
        "postgres": postgres_failover(fleet), "apple": apple_down(fleet),
        "bad_release": bad_release(fleet), "sizes": sizes(fleet, lost),
    }


# What is printed

def number(value):
    """Two digits that matter, with a unit for large ones."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 10 * size or value >= size and unit != "k":
            return f"{value / size:.3g} {unit}"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def span(seconds):
    """A length of time in its largest sensible unit."""
    for unit, size in (("days", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} s" if seconds >= 1 else "under 1 s"


def size(count):
    for unit, bytes_each in (("TiB", 1 << 40), ("GiB", 1 << 30)):
        if count >= bytes_each:
            return f"{count / bytes_each:,.1f} {unit}"
    return f"{count / (1 << 20):,.0f} MiB"


def table(first, results, rows):
    """A column for each fleet."""
    lines = ["| " + " | ".join([first, *(f"{each['devices']:,}" for each in results)]) + " |",
             "| --- |" + " ---: |" * len(results)]
    for name, cell in rows:
        lines.append("| " + " | ".join([name, *(cell(each) for each in results)]) + " |")
    return "\n".join(lines)


def report(results):
    """The tables of docs/capacity.md."""
    load = table("devices", results, [
        ("signed requests a second, mean", lambda r: number(r["requests"])),
        ("the same at the peak", lambda r: number(r["peak"])),
        ("sessions that begin a second, peak", lambda r: number(r["sessions"])),
        ("TLS handshakes a second, peak", lambda r: number(r["handshakes"])),
    ])
    buy = table("devices", results, [
        ("processors of all gateways", lambda r: f"{r['sizes']['cores']:.2f}"),
        ("gateways", lambda r: f"{r['sizes']['gateways']:,}"),
        ("memory of each gateway", lambda r: size(r["sizes"]["gateway_bytes"])),
        ("Redis masters", lambda r: f"{r['sizes']['masters']:,}"),
        ("memory of Redis, all masters", lambda r: size(r["sizes"]["redis_bytes"])),
        ("PostgreSQL", lambda r: size(r["sizes"]["postgres_bytes"])),
        ("floors written a second, of what PostgreSQL can",
         lambda r: f"{r['sizes']['postgres_share']:.1%}"),
    ])
    events = table("devices", results, [
        ("enrolment of 99 % takes", lambda r: span(r["enrolment"]["days"] * DAY)),
        ("its highest rate, a second", lambda r: number(r["enrolment"]["peak"])),
        ("`attest_rollout` x2 each day: asked of Apple, a second",
         lambda r: number(r["doubled"]["peak"])),
        ("steps of it that keep Apple's limit",
         lambda r: f"{r['plan']['step']} in {r['plan']['hours']} h" if r["plan"] else "none"),
        ("the same: enrolment of 99 % takes",
         lambda r: span(r["plan"]["days"] * DAY) if r["plan"] else "-"),
        ("Apple down for 6 h meanwhile: asked afterwards, a second",
         lambda r: number(r["rollout_outage"]["peak"]) if r["plan"] else "-"),
        ("the same: enrolment takes longer by",
         lambda r: span(r["rollout_outage"]["longer"] * DAY) if r["plan"] else "-"),
        ("receipt renewals a second", lambda r: number(r["renewals"]["rate"])),
        ("Redis lost: devices that sign again", lambda r: number(r["redis_lost"]["again"])),
        ("the same: until 99 % of them have", lambda r: span(r["redis_lost"]["seconds"])),
        ("the same: highest rate, a second", lambda r: number(r["redis_lost"]["peak"])),
        ("Redis away for 1 h at the peak: requests told to retry",
         lambda r: number(r["redis_away"]["told"])),
        ("the same: highest rate, a second", lambda r: number(r["redis_away"]["peak"])),
        ("PostgreSQL fails over in 30 s: requests told to retry",
         lambda r: number(r["postgres"]["retry"])),
        ("the same: floors are written again after", lambda r: span(r["postgres"]["behind"])),
        ("Apple down for 6 h: installations that wait", lambda r: number(r["apple"]["waiting"])),
        ("the same: until the last has a key", lambda r: span(r["apple"]["seconds"])),
        ("bad release: the guard of a rollout holds after",
         lambda r: span(r["bad_release"]["guard_hours"] * HOUR)),
        ("the same: devices that have it when it is stopped",
         lambda r: number(r["bad_release"]["devices"])),
    ])
    return f"{load}\n\n{buy}\n\n{events}\n"


def enrolment_lines(results):
    """Fleets below Apple's limit enrol alike and share a line, named after the largest of them."""
    fleets = {}
    for each in results:
        line = ((0, 0), *((day, round(share, 1)) for day, share in each["enrolment"]["series"]))
        fleets.setdefault(line, []).append(each["devices"])
    return {f"{'up to ' if len(alike) > 1 else ''}{max(alike):,} devices": line
            for line, alike in fleets.items()}


def redis_lost_line(result):
    """Each count is drawn where its second begins."""
    lost = result["redis_lost"]
    return [(second - 1, came / lost["using"] * 100) for second, came in lost["series"]]


def plot(folder, results):
    charts.lines(
        os.path.join(folder, "fleet-enrolment.svg"), "Enrolment of an installed base",
        "days since the release", "devices enrolled, %", enrolment_lines(results))
    charts.lines(
        os.path.join(folder, "fleet-redis-lost.svg"), "Redis is lost at the peak",
        "seconds since Redis is back", "devices that sign again in a second, % of those in use",
        {f"{each['devices']:,} devices": redis_lost_line(each) for each in results[-1:]})


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--devices", type=int, nargs="+", default=[10**5, 10**6, 10**7, 10**8])
    add("--active", type=float, default=0.35, help="share of devices active on a given day")
    add("--requests", type=float, default=50, help="signed requests of such a device that day")
    add("--sessions", type=float, default=4, help="times that its user opens the app")
    add("--session-minutes", type=float, default=5, help="how long each lasts")
    add("--handshakes", type=float, default=1, help="full TLS handshakes of a session (ECDSA)")
    add("--resumed", type=float, default=0.5, help="those of a session that are resumed (TLS 1.3)")
    add("--peak", type=float, default=2, help="the highest load of a day beside its mean")
    add("--update-days", type=float, default=4, help="until 63 %% have a new release")
    add("--new-a-month", type=float, default=0.05, help="new installations, of all devices")
    add("--cached", type=float, default=0.2, help="share of sessions whose key is in a cache")
    add("--attestations", type=float, default=ATTESTATIONS, help="Apple's limit, a second")
    add("--receipts", type=float, default=20, help="receipts.rate, a second")
    add("--cores", type=int, default=4, help="of each gateway's machine")
    add("--json", action="store_true", help="print everything, for programs")
    add("--plots", metavar="FOLDER", help="write the charts there")
    return parser


def main():
    parser = arguments()
    given = parser.parse_args()
    if min(given.devices) < 1 or given.peak < 1 or given.peak > 2:
        parser.error("there is no such fleet: devices from 1, --peak from 1 to 2")
    fleets = given.devices
    results = []
    for given.devices in fleets:
        results.append(simulate(given))
    if given.plots:
        plot(given.plots, results)
    print(json.dumps(results, indent=1) if given.json else report(results), end="")


if __name__ == "__main__":
    main()
