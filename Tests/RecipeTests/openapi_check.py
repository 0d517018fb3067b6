"""Sends requests whose answers are known, and holds the answers against docs/openapi.yaml.

usage: openapi_check.py OPENAPI REQUESTS

OPENAPI is validated itself first. REQUESTS is a file with a list of
{"path" (as in OPENAPI), "method", "url", "headers": {}, "body", "status"}.
"""

import json
import sys

import requests
import schemathesis


def main(openapi, path):
    schema = schemathesis.openapi.from_path(openapi)
    schema.validate()
    with open(path) as file:
        calls = json.load(file)
    failed = 0
    for call in calls:
        name = f"{call['method']} {call['path']} {call['status']}"
        answer = requests.request(
            call["method"], call["url"], headers=call["headers"],
            data=call["body"].encode(), timeout=30)
        try:
            if answer.status_code != call["status"]:
                raise ValueError(f"status {answer.status_code}: {answer.text}")
            operation = schema[call["path"]][call["method"]]
            if str(answer.status_code) not in operation.definition.raw["responses"]:
                raise ValueError("the document names no such status")
            operation.validate_response(answer)
        except Exception as error:
            failed += 1
            print(f"{name}: {error}")
    print(f"{len(calls)} answers, {failed} wrong")
    sys.exit(failed > 0)


main(*sys.argv[1:])
