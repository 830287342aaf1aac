#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes core/decode/wire/*.schema: how the API objects that berth reads are laid out in protobuf and named in JSON.

  scripts/lib/protobuf_schema.py KUBERNETES/staging/src/k8s.io

Read from the struct tags of k8s.io/api's Go types, which say both. core/decode/wire_schema.hpp explains the format.
"""
import re
import sys
import textwrap
from pathlib import Path

ROOTS = {  # package: kinds that arrive from an API server
    "core/v1": "Pod Node Namespace Service ReplicationController PersistentVolume PersistentVolumeClaim",
    "meta/v1": "Status ListMeta",
    "apps/v1": "ReplicaSet StatefulSet",
    "policy/v1": "PodDisruptionBudget",
    "scheduling/v1": "PriorityClass",
    "scheduling/v1alpha2": "PodGroup Workload",
    "storage/v1": "StorageClass CSINode CSIDriver CSIStorageCapacity VolumeAttachment",
    "resource/v1": "ResourceClaim ResourceClaimTemplate ResourceSlice DeviceClass",
}
SCALARS = {"string": "s", "bool": "b", "int": "i", "int32": "i", "int64": "i"}
# Types whose JSON is not that of their members.
SPECIAL = {"meta/v1.Time": "Time", "resource.Quantity": "Quantity", "intstr.IntOrString": "IntOrString",
           "runtime.RawExtension": "Raw", "types.UID": "s", "types.NodeName": "s"}
LEFT_OUT = {("meta/v1.ObjectMeta", "managedFields")}  # the scheduler does not read who wrote what, and it is a third of an object
IMPORTS = {"metav1": "meta/v1", "v1": "core/v1", "corev1": "core/v1", "apiv1": "core/v1"}


def api_version(package):
    group, version = package.split("/")
    if group in ("core", "meta"):
        return version
    return f"{group}{'' if group in ('apps', 'policy') else '.k8s.io'}/{version}"


class Package:
    def __init__(self, root, name):
        path = root / ("apimachinery/pkg/apis/meta/v1" if name == "meta/v1" else f"api/{name}")
        self.structs, self.names = {}, {}
        for file in sorted(path.glob("*.go")):
            if file.name.startswith("zz_") or file.name.endswith(("_test.go", ".pb.go")):
                continue
            text = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.S)
            text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
            for match in re.finditer(r"^type (\w+) struct \{\n(.*?)^\}", text, flags=re.M | re.S):
                self.structs[match[1]] = match[2]
            for match in re.finditer(r"^type (\w+) =? ?([\w.\[\]*]+)$", text, flags=re.M):
                self.names[match[1]] = match[2]


class Schema:
    def __init__(self, root):
        self.packages, self.root, self.messages, self.wanted = {}, root, {}, []

    def package(self, name):
        if name not in self.packages:
            self.packages[name] = Package(self.root, name)
        return self.packages[name]

    def type_of(self, go, package):
        """(prefix, type) of a Go type as seen from a package."""
        if go in SCALARS:
            return "", SCALARS[go]
        if go.startswith("*"):
            prefix, name = self.type_of(go[1:], package)
            return "*" + prefix, name
        if go.startswith("[]"):
            prefix, name = self.type_of(go[2:], package)
            return "[]" + prefix.replace("*", ""), name
        if match := re.match(r"map\[([\w.]+)\](.*)", go):
            prefix, name = self.type_of(match[2], package)
            if prefix:
                raise SystemExit(f"{package}: cannot say {go}")
            return "{}", name
        if "." in go:
            module, name = go.split(".")
            home = IMPORTS.get(module, module)
        else:
            home, name = package, go
        full = f"{home}.{name}"
        if full in SPECIAL:
            return "", SPECIAL[full]
        if "/" not in home:
            raise SystemExit(f"{package}: where is {go}?")
        there = self.package(home)
        if name in there.names:
            return self.type_of(there.names[name], home)
        if name not in there.structs:
            raise SystemExit(f"{package}: what is {go}?")
        self.want(home, name)
        return "", name if home == package else full

    def want(self, package, name):
        if (package, name) not in self.messages:
            self.messages[package, name] = []
            self.wanted.append((package, name))

    def run(self):
        while self.wanted:
            package, name = self.wanted.pop()
            for line in self.package(package).structs[name].splitlines():
                match = re.match(r'\s*(?:(\w+)\s+)?([\w.*\[\]]+)\s+`json:"([^"]*)"[^`]*?\sprotobuf:"([^"]*)"', line)
                if not match or match[4] == "-":
                    continue
                member, go, json, wire = match[1], match[2], match[3].split(","), match[4].split(",")
                number = next(part for part in wire if part.isdigit())
                if (f"{package}.{name}", json[0]) in LEFT_OUT:
                    continue
                prefix, kind = self.type_of(go, package)
                if "inline" in json and not json[0]:
                    self.messages[package, name].append((int(number), f"^={number}:{prefix.replace('*', '')}{kind}"))
                    continue
                if not prefix and not ({"omitempty", "omitzero"} & set(json[1:])):
                    prefix = "*"  # written even when it is zero
                self.messages[package, name].append((int(number), f"{json[0]}={number}:{prefix}{kind}"))

    def text(self, package):
        out = ["# Made by scripts/lib/protobuf_schema.py from kubernetes v1.36; wire_schema.hpp explains.", f"@{package} {api_version(package)}"]
        for (home, name), fields in sorted(self.messages.items()):
            if home == package:
                line = f"{name} " + " ".join(text for _, text in sorted(fields))
                out += textwrap.wrap(line, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    schema = Schema(Path(sys.argv[1]))
    for package, kinds in ROOTS.items():
        for kind in kinds.split():
            schema.want(package, kind)
    schema.run()
    folder = Path(__file__).parents[2] / "core/decode/wire"
    for package in sorted({home for home, _ in schema.messages}):
        (folder / f"{package.replace('/', '_')}.schema").write_text(schema.text(package))


main()
