"""Says whether an SBOM is right: python3 sbom_check.py FILE

CycloneDX's own validator reads it, strictly. Each component needs a licence that a proprietary
product may link to, and Debian's copyright file of the package has to name it. Needs PyPI's
cyclonedx-python-lib. Ends with 1 and says what is wrong.
"""

import json
import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

# A licence as SPDX has it, and words of it in a copyright file, which may use Debian's own names.
LICENCES = {
    "Apache-2.0": "Apache-2.0",
    "Apache-2.0 WITH Swift-exception": None,
    "BSD-3-Clause": "Redistributions in binary form",
    "GPL-3.0-or-later WITH GCC-exception-3.1": "GCC Runtime Library Exception",
    "LGPL-2.1-or-later": "GNU Lesser General Public",
    "MIT": "Permission is hereby granted, free of charge",
    "PostgreSQL": "Permission to use, copy, modify, and distribute this software",
    "blessing": "public-domain",
    "curl": "License: curl",
}


def faults(text):
    """What is wrong with an SBOM, a line each."""
    found = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if found is not None:
        yield f"not CycloneDX 1.5: {found.data}"
        return
    for component in json.loads(text)["components"]:
        name = component["name"]
        expressions = [licence.get("expression") for licence in component.get("licenses", [])]
        if len(expressions) != 1 or expressions[0] not in LICENCES:
            yield f"{name}: a licence that nobody has judged: {expressions}"
            continue
        words = LICENCES[expressions[0]]
        if words is None:
            continue
        file = pathlib.Path("/usr/share/doc") / name / "copyright"
        if words not in " ".join(file.read_text(encoding="utf-8").split()):
            yield f"{name}: its copyright file does not say {words!r}"


def main():
    """Prints the faults."""
    found = list(faults(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
    print("\n".join(found) or "right")
    sys.exit(1 if found else 0)


main()
