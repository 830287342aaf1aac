#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py ROOT PACKAGE.deb [--built-with NAME…]: what is in an image that image_root.sh made, as SPDX 2.3 in JSON.

Which Debian package and version each file of ROOT comes from is what dpkg of this machine says, from which the files were
copied; PACKAGE.deb names berth itself. --built-with: packages whose headers were compiled in. A file without an owner is
an error. SOURCE_DATE_EPOCH is the time of the document, where it is set.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

# Written by image_root.sh itself, or put together on the machine from what a package brings.
MADE = {"/etc/passwd": "berth", "/etc/group": "berth", "/etc/nsswitch.conf": "berth",
        "/etc/ssl/certs/ca-certificates.crt": "ca-certificates"}
FIELDS = "${Package}|${Version}|${Architecture}|${source:Package}|${source:Version}|${Homepage}"


def said(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def owner_of(path):
    """The package of this machine that brings a file; Debian knows some by the name before /usr was merged."""
    for known in (path, os.path.realpath(path), re.sub(r"^/usr", "", os.path.realpath(path)), f"/usr{path}"):
        found = said("dpkg-query", "--search", known)
        if found:
            return found.split(":")[0]
    return None


def digests(path):
    content = path.read_bytes()
    return {name: hashlib.new(name, content).hexdigest() for name in ("sha1", "sha256")}


def spdx_id(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.]", "-", name)


def package_entry(fields):
    name, version, architecture, source, source_version, homepage = fields.strip().split("|")
    entry = {"SPDXID": spdx_id("Package", name), "name": name, "versionInfo": version,
             "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
             "licenseDeclared": "Apache-2.0" if name == "berth" else "NOASSERTION", "copyrightText": "NOASSERTION"}
    if homepage:
        entry["homepage"] = homepage
    if name != "berth":
        entry["supplier"] = "Organization: Debian"
        entry["sourceInfo"] = f"built from the source package {source} {source_version}"
        purl = (f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}?arch={architecture}&distro=debian-12"
                f"&upstream={urllib.parse.quote(f'{source}@{source_version}')}")
        entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": purl}]
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--built-with", nargs="*", default=[])
    options = parser.parse_args()

    listing = said("dpkg-deb", "--contents", options.package) or ""
    ours = {line.split(None, 5)[5].split(" -> ")[0].lstrip(".") for line in listing.splitlines()}
    files, unowned = {}, []
    for path in sorted(p for p in options.root.rglob("*") if p.is_file() and not p.is_symlink()):
        name = "/" + str(path.relative_to(options.root))
        owner = MADE.get(name) or ("berth" if name in ours else owner_of(name))
        if owner is None:
            unowned.append(name)
        files.setdefault(owner, []).append((name, digests(path)))
    if unowned or "berth" not in files:
        sys.exit(f"sbom.py: no package brings {', '.join(unowned) or 'berth'}")

    packages, contents, relations = [], [], []
    for owner in sorted(files):
        fields = (said("dpkg-deb", "--show", f"--showformat={FIELDS}", options.package) if owner == "berth"
                  else said("dpkg-query", "--show", f"--showformat={FIELDS}\n", owner).splitlines()[0])
        entry = package_entry(fields)
        entry["filesAnalyzed"] = True
        sums = "".join(sorted(sums["sha1"] for _, sums in files[owner]))
        entry["packageVerificationCode"] = {"packageVerificationCodeValue": hashlib.sha1(sums.encode()).hexdigest()}
        packages.append(entry)
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", entry["SPDXID"]) if owner == "berth"
                         else (spdx_id("Package", "berth"), "DEPENDS_ON", entry["SPDXID"]))
        for name, sums in files[owner]:
            contents.append({"SPDXID": spdx_id("File", name), "fileName": "." + name, "licenseConcluded": "NOASSERTION",
                             "copyrightText": "NOASSERTION", "checksums": [
                                 {"algorithm": kind.upper(), "checksumValue": value} for kind, value in sums.items()]})
            relations.append((entry["SPDXID"], "CONTAINS", contents[-1]["SPDXID"]))
    for name in sorted(set(options.built_with)):
        fields = said("dpkg-query", "--show", f"--showformat={FIELDS}\n", name)
        if not fields:
            sys.exit(f"sbom.py: built with {name}, which is not installed")
        packages.append(package_entry(fields.splitlines()[0]))
        relations.append((packages[-1]["SPDXID"], "BUILD_DEPENDENCY_OF", spdx_id("Package", "berth")))

    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp())),
                                           datetime.timezone.utc)
    version = next(p["versionInfo"] for p in packages if p["name"] == "berth")
    unique = hashlib.sha256(json.dumps(contents).encode()).hexdigest()
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                "name": f"berth-{version}", "documentNamespace": f"https://berth.dev/spdx/berth-{version}-{unique}",
                "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: berth-sbom.py"]},
                "packages": packages, "files": contents,
                "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                                  for one, kind, other in relations]}
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
