"""Runs commands of `sallyport-lab` in one process: to start it takes longer than to sign."""

import json
import subprocess


class Lab:
    def __init__(self, program):
        self._batch = subprocess.Popen(
            [program, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, *words):
        """What the command prints."""
        self._batch.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self._batch.stdin.flush()
        lines = []
        for line in self._batch.stdout:
            if line == "\n":
                return "".join(lines)
            lines.append(line)
        raise RuntimeError(f"sallyport-lab ended at {words[:2]}")

    def close(self):
        self._batch.communicate()
