"""What a case is, and how many of them are run."""

import concurrent.futures
import traceback

from wire import Closed, Failed

SUITES = {}


def case(suite, name, *arguments):
    """Adds a function to a suite; it is called with the site, and raises Failed."""
    def add(function):
        SUITES.setdefault(suite, []).append((name, function, arguments))
        return function
    return add


def run(suite, site, only="", at_once=32):
    """Runs the cases of a suite side by side; returns the failures and how many there were."""
    chosen = [each for each in SUITES[suite] if only in each[0]]

    def judge(each):
        name, function, arguments = each
        try:
            function(site, *arguments)
        except Closed:
            return name, "the server closed the connection"
        except Failed as failure:
            return name, str(failure)
        except Exception:  # pylint: disable=broad-except
            return name, traceback.format_exc()
        return None

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        failures = [each for each in pool.map(judge, chosen) if each]
    return failures, len(chosen)
