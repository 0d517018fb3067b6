"""Two workers beside one: what a request costs them; prints a table."""

import bench
import results
import testbed
from bench import CONNECTIONS, DEVICES, ROUND_SECONDS, ROUNDS

# Two workers do as much as 1.9 of one if their requests cost at most 1 / 0.95 as much.
AIM = 0.95
WORKERS = ["1", "2"]


def start(bed, workers, upstream):
    """A gateway that runs on any processor, and its port."""
    port, admin = testbed.free_ports(2)
    name = f"workers-{workers}"
    bed.configure_gateway(name, port, admin, upstream, workers=workers,
                          more="crypto: { batch: off }")
    for number in range(ROUNDS):
        bed.import_keys(name, f"round-{number}", DEVICES)
    return bed.start_gateway(name, admin)[0], port


def plain(bed, process, port, _):
    """A round of plain requests."""
    return bench.sample_of(process, lambda: bed.wrk_result(
        bed.start_wrk("wrk", port, ROUND_SECONDS, CONNECTIONS)))


def verified(bed, process, port, number):
    """A round of verified requests."""
    return bench.sample_of_load(bed.load_result(bed.start_load(
        "load", port, ROUND_SECONDS, f"round-{number}", DEVICES, CONNECTIONS, server=process)))


def measure(bed):
    """Each round measures each gateway once with each kind of request."""
    facts = testbed.announce(bed)
    upstream, = testbed.free_ports(1)
    bed.start_upstream(upstream)
    gateways = {workers: start(bed, workers, upstream) for workers in WORKERS}
    kinds = {"plain": plain, "verified": verified}
    samples = {kind: {workers: [] for workers in WORKERS} for kind in kinds}
    for number in range(ROUNDS):
        for kind, run in kinds.items():
            for workers in bench.turned(WORKERS, number):
                samples[kind][workers].append(run(bed, *gateways[workers], number))
    bench.table(
        f"Processor time of a request, {ROUNDS} rounds of {ROUND_SECONDS} s, nothing pinned",
        ("requests", "one worker, us", "two workers, us", "one / two", "aim"),
        *((kind, *(bench.median(each.microseconds for each in of[workers]) for workers in WORKERS),
           *bench.ratios("", of["2"], of["1"], AIM)[2:])
          for kind, of in samples.items()))
    results.write(results.path("workers.json"), facts, bench.SETTINGS,
                  {kind: bench.figures(of) for kind, of in samples.items()})
    return 0


if __name__ == "__main__":
    testbed.main(measure)
