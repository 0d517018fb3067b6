#!/usr/bin/env python3
"""Checks what an overlay makes, without a cluster.

    deploy/kubernetes/check.py [--schemas] [--sallyport PROGRAM] OVERLAY

Builds the overlay as kustomize does, with `kubectl kustomize` where there is one, and looks whether
names, ports, probes, volumes and the gateway's configuration agree. --schemas also validates each
object against Kubernetes' published schemas (kubernetes-validate of PyPI). --sallyport also has
`sallyport check` read the configuration. Prints each fault; exit code 1 if there is one.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

# What tells the elements of a list apart, for a strategic merge.
KEYS = {"containers": "name", "volumes": "name", "volumeMounts": "mountPath", "ports": "containerPort"}
KUSTOMIZATION_KEYS = {
    "apiVersion", "kind", "resources", "patches", "configMapGenerator", "images",
}
CONFIGURATION = "/etc/sallyport/sallyport.yaml"


class Fault(Exception):
    """Something that is wrong with the overlay."""


def load(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


def identity(document):
    return document["kind"], document["metadata"]["name"]


def merged(base, patch, key=None):
    """A strategic merge patch (kubectl's documentation), as far as the overlays use it."""
    if isinstance(base, dict) and isinstance(patch, dict):
        result = dict(base)
        for name, value in patch.items():
            if name.startswith("$"):
                raise Fault(f"{name} is not merged alike everywhere")
            result[name] = merged(base[name], value, name) if name in base else value
        return result
    if isinstance(base, list) and isinstance(patch, list) and key in KEYS:
        mark = KEYS[key]
        result = {element[mark]: element for element in base}
        fresh = [element for element in patch if element[mark] not in result]
        for element in patch:
            if element[mark] in result:
                result[element[mark]] = merged(result[element[mark]], element)
        return fresh + list(result.values())
    return patch


def built(folder):
    """The documents of a kustomization."""
    kustomization = load(os.path.join(folder, "kustomization.yaml"))[0]
    unknown = set(kustomization) - KUSTOMIZATION_KEYS
    if unknown:
        raise Fault(f"{folder}: this check does not know {', '.join(sorted(unknown))}")
    documents = []
    for name in kustomization.get("resources", []):
        path = os.path.join(folder, name)
        documents += built(path) if os.path.isdir(path) else load(path)
    for generator in kustomization.get("configMapGenerator", []):
        if not generator.get("options", {}).get("disableNameSuffixHash"):
            raise Fault(f"{folder}: a ConfigMap with a hash in its name restarts every pod")
        data = {}
        for name in generator["files"]:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                data[name] = file.read()
        documents.append({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]},
            "data": data,
        })
    for entry in kustomization.get("patches", []):
        patch = load(os.path.join(folder, entry["path"]))[0]
        places = [index for index, each in enumerate(documents) if identity(each) == identity(patch)]
        if len(places) != 1:
            raise Fault(f"{entry['path']}: there is no {' '.join(identity(patch))} to change")
        if patch.get("$patch") == "delete":
            del documents[places[0]]
        else:
            documents[places[0]] = merged(documents[places[0]], patch)
    for image in kustomization.get("images", []):
        for document in documents:
            for container in pod(document).get("containers", []):
                if container["image"] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"
    return documents


def built_by_kustomize(folder):
    """The same by the real thing; None where there is none."""
    if shutil.which("kustomize"):
        command = ["kustomize", "build", folder]
    elif shutil.which("kubectl"):
        command = ["kubectl", "kustomize", folder]
    else:
        return None
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        raise Fault(f"{' '.join(command)}: {outcome.stderr.strip()}")
    return [document for document in yaml.safe_load_all(outcome.stdout) if document]


def ordered(documents):
    """In an order of their own: kustomize and this check differ in it."""
    def each(value):
        if isinstance(value, dict):
            return {name: each(value[name]) for name in sorted(value)}
        if isinstance(value, list):
            return sorted((each(element) for element in value), key=repr)
        return value

    return sorted((each(document) for document in documents), key=identity)


def pod(document):
    return document.get("spec", {}).get("template", {}).get("spec", {})


class Overlay:
    """The objects of an overlay by kind, and the gateway's configuration in them."""

    def __init__(self, documents):
        self.documents = documents
        self.deployment = self.only("Deployment")
        self.template = self.deployment["spec"]["template"]
        self.labels = self.template["metadata"]["labels"]
        self.pod = self.template["spec"]
        self.container = self.pod["containers"][0]
        self.ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        self.configuration_text = self.only("ConfigMap")["data"]["sallyport.yaml"]
        self.configuration = yaml.safe_load(self.configuration_text)

    def all(self, kind):
        return [document for document in self.documents if document["kind"] == kind]

    def only(self, kind):
        found = self.all(kind)
        if len(found) != 1:
            raise Fault(f"there are {len(found)} of {kind}")
        return found[0]

    def faults(self):
        for check in [self.names, self.services, self.probes, self.binds, self.stop, self.volumes,
                      self.scaling, self.monitoring, self.rights]:
            for fault in check():
                yield fault

    def names(self):
        identities = [identity(document) for document in self.documents]
        for each in set(identities):
            if identities.count(each) > 1:
                yield f"{' '.join(each)} is there twice"

    def selects(self, selector):
        return bool(selector) and all(self.labels.get(key) == value for key, value in selector.items())

    def services(self):
        if not self.selects(self.deployment["spec"]["selector"]["matchLabels"]):
            yield "the Deployment does not select its own pods"
        for service in self.all("Service"):
            name = service["metadata"]["name"]
            if not self.selects(service["spec"]["selector"]):
                yield f"Service {name} selects no pod"
            for port in service["spec"]["ports"]:
                if port["targetPort"] not in self.ports:
                    yield f"Service {name}: no port of the container is named {port['targetPort']}"
        for policy in self.all("NetworkPolicy"):
            if not self.selects(policy["spec"]["podSelector"].get("matchLabels")):
                yield "the NetworkPolicy selects no pod"
            named = [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]
            if sorted(named) != sorted(self.ports):
                yield f"the NetworkPolicy says nothing of some port: {named}"
            for rule in policy["spec"]["ingress"]:
                if "from" not in rule and any(port["port"] == "metrics" for port in rule["ports"]):
                    yield "the NetworkPolicy lets everybody reach the admin listener"
        for spread in self.pod["topologySpreadConstraints"]:
            if not self.selects(spread["labelSelector"]["matchLabels"]):
                yield "topologySpreadConstraints select other pods"

    def probes(self):
        for name, path in [("startupProbe", "/livez"), ("livenessProbe", "/livez"),
                           ("readinessProbe", "/readyz")]:
            request = self.container[name]["httpGet"]
            if request["path"] != path:
                yield f"{name} asks for {request['path']}, not for {path}"
            if request["port"] != "probes" or "probes" not in self.ports:
                yield f"{name} asks at port {request['port']}, which is not that of admin.probes"

    def binds(self):
        admin = self.configuration["admin"]
        for name, bind in [("http", self.configuration["listeners"][0]["bind"]),
                           ("metrics", admin["bind"]), ("probes", admin["probes"]["bind"])]:
            if bind != f"0.0.0.0:{self.ports.get(name)}":
                yield f"port {name} is {self.ports.get(name)}, but the gateway binds {bind}"

    def stop(self):
        timeouts = self.configuration["timeouts"]
        delay, drain = (int(re.fullmatch(r"(\d+)s", timeouts[key])[1]) for key in ["drain_delay", "drain"])
        grace = self.pod["terminationGracePeriodSeconds"]
        if grace <= delay + drain:
            yield f"a pod is killed after {grace}s, and stops within {delay + drain}s"
        probe = self.container["readinessProbe"]
        if delay <= probe["periodSeconds"] * probe["failureThreshold"]:
            yield f"drain_delay is over before the readiness probe fails: {delay}s"

    def files(self, value=None):
        """Every file that the configuration names, from the root on."""
        value = self.configuration if value is None else value
        if isinstance(value, dict):
            for key, each in value.items():
                is_file = key.endswith("_file") or key in ("sqlite", "certificate", "key", "ca", "crl")
                if is_file and isinstance(each, str):
                    yield os.path.normpath(os.path.join(os.path.dirname(CONFIGURATION), each))
                else:
                    yield from self.files(each)
        elif isinstance(value, list):
            for each in value:
                yield from self.files(each)

    def volumes(self):
        volumes = {volume["name"]: volume for volume in self.pod["volumes"]}
        mounts = self.container["volumeMounts"]
        for mount in mounts:
            if mount["name"] not in volumes:
                yield f"there is no volume {mount['name']}"
            if "subPath" in mount:
                yield f"{mount['mountPath']}: a subPath never changes"
        places = {mount["mountPath"]: volumes.get(mount["name"], {}) for mount in mounts}
        mounted = places.get(os.path.dirname(CONFIGURATION), {}).get("configMap", {}).get("name")
        if mounted != self.only("ConfigMap")["metadata"]["name"]:
            yield f"{CONFIGURATION} is not that of the ConfigMap"
        if self.container["args"][-2:] != ["-c", CONFIGURATION]:
            yield f"the gateway is not started with {CONFIGURATION}"
        for path in self.files():
            volume = places.get(os.path.dirname(path))
            if volume is None:
                yield f"{path} is in no volume"
            elif "secret" in volume:
                items = {item["path"] for item in volume["secret"].get("items", [])}
                if os.path.basename(path) not in items:
                    yield f"{path} is no item of the Secret"
                if volume["secret"].get("defaultMode", 0o644) & 0o007:
                    yield f"{path} is open to all users"
            elif "persistentVolumeClaim" in volume:
                claim = volume["persistentVolumeClaim"]["claimName"]
                if ("PersistentVolumeClaim", claim) not in map(identity, self.documents):
                    yield f"there is no claim {claim}"
            else:
                yield f"{path} would not outlive the pod"

    def scaling(self):
        is_single = "sqlite" in self.configuration["registry"]
        kind = self.deployment["spec"]["strategy"]["type"]
        if is_single:
            if kind != "Recreate" or self.deployment["spec"].get("replicas") != 1:
                yield "SQLite is for one pod at a time: replicas 1, strategy Recreate"
            if self.all("HorizontalPodAutoscaler") or self.all("PodDisruptionBudget"):
                yield "SQLite is for one pod: nothing may scale it or keep it from being moved"
            return
        if kind != "RollingUpdate" or "replicas" in self.deployment["spec"]:
            yield "several pods: the autoscaler says how many, and a rollout replaces one by one"
        if self.configuration.get("counters", "embedded") == "embedded":
            yield "several pods need counters in Redis"
        target = self.only("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
        if (target["kind"], target["name"]) != identity(self.deployment):
            yield "the autoscaler scales something else"
        if not self.selects(self.only("PodDisruptionBudget")["spec"]["selector"]["matchLabels"]):
            yield "the PodDisruptionBudget is about other pods"

    def monitoring(self):
        for monitor in self.all("ServiceMonitor"):
            wanted = monitor["spec"]["selector"]["matchLabels"]
            found = [service for service in self.all("Service")
                     if wanted.items() <= service["metadata"].get("labels", {}).items()]
            if len(found) != 1:
                yield f"the ServiceMonitor selects {len(found)} Services"
                continue
            ports = {port["name"] for port in found[0]["spec"]["ports"]}
            for endpoint in monitor["spec"]["endpoints"]:
                if set(endpoint) - {"port", "path", "interval"}:
                    yield f"this check does not know all of {sorted(endpoint)}"
                if endpoint["port"] not in ports or endpoint["path"] != "/metrics":
                    yield "the ServiceMonitor does not read /metrics of the admin listener"

    def rights(self):
        if not self.pod["securityContext"].get("runAsNonRoot"):
            yield "the pod may run as root"
        rights = self.container["securityContext"]
        if rights.get("allowPrivilegeEscalation") is not False or not rights.get("readOnlyRootFilesystem"):
            yield "the container may change itself"
        if rights.get("capabilities", {}).get("drop") != ["ALL"]:
            yield "the container keeps capabilities"

    def check_configuration(self, program):
        """What `sallyport check` says, with files in place of what the volumes will hold."""
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(os.path.join(directory, "etc/sallyport"))
            path = directory + CONFIGURATION
            for name in self.files():
                # Base64 of 32 bytes each, unlike one another: a password may be that too.
                place = directory + name
                if name.startswith("/var/"):
                    continue
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "w", encoding="ascii") as file:
                    subprocess.run(["openssl", "rand", "-base64", "32"], stdout=file, check=True)
                os.chmod(place, 0o600)
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.configuration_text)
            outcome = subprocess.run(
                [program, "check", "-c", path], capture_output=True, text=True, check=False)
            if outcome.returncode != 0:
                yield "sallyport check: " + outcome.stderr.replace(directory, "").strip()


def schema_faults(documents):
    import kubernetes_validate

    for document in documents:
        # The Prometheus operator's; Overlay.monitoring looks at all of it.
        if document["kind"] == "ServiceMonitor":
            continue
        try:
            kubernetes_validate.validate(document, "1.31", strict=True)
        except kubernetes_validate.ValidationError as error:
            place = ".".join(str(part) for part in error.path)
            yield f"{' '.join(identity(document))}: {place}: {error.message}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemas", action="store_true")
    parser.add_argument("--sallyport")
    parser.add_argument("overlay")
    options = parser.parse_args()
    faults, documents = [], []

    def collect(found):
        """One step that fails does not keep the others from telling what they find."""
        try:
            faults.extend(found())
        except (Fault, KeyError, TypeError, OSError, yaml.YAMLError) as error:
            faults.append(f"{type(error).__name__}: {error}")

    def build():
        documents.extend(built(options.overlay))
        real = built_by_kustomize(options.overlay)
        if real is not None and ordered(real) != ordered(documents):
            yield "kustomize builds something else than this check: teach it"

    collect(build)
    if options.schemas:
        collect(lambda: schema_faults(documents))
    collect(lambda: Overlay(documents).faults())
    if options.sallyport:
        collect(lambda: Overlay(documents).check_configuration(options.sallyport))
    for fault in faults:
        print(f"{options.overlay}: {fault}")
    if not faults:
        print(f"{options.overlay}: ok, {len(documents)} objects")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
