#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages, as a machine that has nothing else of berth gets them.

    install_test.py --build DIR --out DIR

Packages what was built in DIR, installs both packages into a clean root with the steps of the image, works from there,
and removes them again. Tools that only look at files (lintian, mandoc, zsh, fish, systemd-analyze) are used where they
are installed; those that are not are named. Ends with "N passed, N failed".
"""
import argparse
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from attempts import Attempts, run  # noqa: E402

STATIC_POD = ROOT / "conf/deploy/static-pod/kube-scheduler.yaml"
# dpkg gives files to root, which only root and fakeroot can.
AS_ROOT = [] if os.geteuid() == 0 else ["fakeroot"]


class Machine:
    """A root with nothing but the two packages; its programs run with an empty environment."""

    def __init__(self, build, out):
        shutil.rmtree(out / "packages", ignore_errors=True)
        run(ROOT / "scripts/package", "--build", build, "--out", out / "packages")
        self.packages = {p.name.split("_")[0]: p for p in sorted((out / "packages").glob("*.deb"))}
        self.path = out / "root"
        shutil.rmtree(self.path, ignore_errors=True)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="scratch-", dir=out))

    def dpkg(self, *arguments):
        return run(*AS_ROOT, "dpkg", f"--root={self.path}", "--force-script-chrootless", "--force-depends", *arguments)

    def berth(self, *arguments, expect=0):
        return run(self.path / "usr/bin/berth", *arguments, expect=expect, env={}, cwd=self.scratch)


def check_packages(machine):
    assert sorted(machine.packages) == ["berth", "berth-plugin-dev"], f"packages: {sorted(machine.packages)}"
    fields = {name: run("dpkg-deb", "--show", "--showformat=${Architecture}|${Depends}|${Version}", file).split("|")
              for name, file in machine.packages.items()}
    architecture, depends, version = fields["berth"]
    assert architecture == run("dpkg", "--print-architecture").strip(), architecture
    for library in ("libc6 (>= ", "libstdc++6 (>= ", "libssl3", "libseccomp2", "libyaml-cpp", "libsimdjson", "zlib1g"):
        assert library in depends, f"berth depends on {depends}, not on {library}"
    assert "ca-certificates" in re.split(r"[ ,]+", depends), f"without certificates no server is trusted: {depends}"
    assert fields["berth-plugin-dev"][0] == architecture, "it has a static library"
    assert "libre2-dev" in fields["berth-plugin-dev"][1], f"the static library needs RE2: {fields['berth-plugin-dev'][1]}"
    assert "boost" not in depends, f"berth depends on {depends}"
    assert version == fields["berth-plugin-dev"][2]


def install(machine):
    run(*AS_ROOT, ROOT / "scripts/lib/image_root.sh", machine.path, machine.packages["berth"])
    machine.dpkg("--install", machine.packages["berth-plugin-dev"])
    states = run("dpkg-query", f"--root={machine.path}", "--show", "--showformat=${Package} ${db:Status-Status}\n")
    assert states.split("\n") == ["berth installed", "berth-plugin-dev installed", ""], states
    assert machine.dpkg("--verify", "berth", "berth-plugin-dev") == "", "files differ from the package's checksums"


def check_places(machine):
    for name in ("usr/bin/berth", "usr/lib/berth/plugins/node_resources_fit.so", "etc/berth/berth.yaml",
                 "lib/systemd/system/berth.service", "usr/share/berth/berth.yaml", "usr/share/man/man1/berth-run.1.gz",
                 "usr/share/bash-completion/completions/berth", "usr/include/berth/plugin.h",
                 "usr/share/doc/berth/examples/README.md", "usr/share/doc/berth/examples/RECORDING.md",
                 "usr/share/doc/berth/examples/RUNNING.md", "usr/share/doc/berth/examples/THREATS.md",
                 "usr/share/doc/berth/SECURITY.md"):
        assert (machine.path / name).is_file(), f"/{name} is missing"
    written_by_others = [str(p) for p in machine.path.glob("usr/**/*")
                         if not p.is_symlink() and p.stat().st_mode & 0o022]
    assert not written_by_others, f"others may write to {written_by_others}"
    origin = str(ROOT) + "/"
    for path in [machine.path / "usr/bin/berth", *(machine.path / "usr/lib/berth/plugins").glob("*.so")]:
        dynamic = run("readelf", "-dW", path)
        assert "RUNPATH" not in dynamic and "RPATH" not in dynamic, f"{path} searches for libraries by itself"
    for path in machine.path.glob("usr/share/**/*"):
        if path.is_file():
            assert origin not in path.read_text(errors="replace"), f"{path} mentions {origin}"
    conffiles = run("dpkg-query", f"--root={machine.path}", "--show", "--showformat=${Conffiles}", "berth")
    assert "/etc/berth/berth.yaml" in conffiles, "an upgrade would replace what an operator wrote"


def dead_links(root):
    """Links of Markdown files to files that are not there, and how many links there are."""
    dead, count = [], 0
    for path in sorted(root.glob("usr/share/**/*.md")):
        text = re.sub(r"^ *```.*?^ *```$|`[^`\n]*`", "", path.read_text(), flags=re.S | re.M)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not re.match(r"[a-z]+:", target):
                count += 1
                if not (path.parent / target).exists():
                    dead.append(f"/{path.relative_to(root)}: {target}")
    return dead, count


def check_links(machine):
    dead, count = dead_links(machine.path)
    assert count > 10, f"only {count} links were found"
    assert not dead, "links to what is not installed:\n" + "\n".join(dead)


def check_site(machine):
    """The documentation of the SDK: no page leads to what is not installed."""
    site = machine.path / "usr/share/doc/berth-sdk/site"
    assert (site / "docs_rust.html").is_file() and (site / "docs_points_filter.html").is_file(), "pages of the site are missing"
    run(sys.executable, pathlib.Path(__file__).resolve().parents[1] / "sdk_docs/check_links.py", site)


def check_simulation(machine):
    cluster = machine.path / "usr/share/berth/examples/cluster.yaml"
    shown = machine.berth("simulate", "--cluster", cluster)
    assert re.search(r"9 nodes, 29 pods: 18 placed", shown), shown
    plugins = machine.path / "usr/lib/berth/plugins"
    hidden = plugins.with_name("hidden")
    plugins.rename(hidden)
    try:
        without = machine.berth("simulate", "--cluster", cluster, expect=1)
    finally:
        hidden.rename(plugins)
    assert str(plugins) in without, f"policies came from elsewhere:\n{without}"


def check_configurations(machine):
    for name in ("etc/berth/berth.yaml", "usr/share/berth/berth.yaml"):
        assert "good: 1 profile" in machine.berth("config", "check", machine.path / name), name


def check_kubeadm_command_line(machine):
    """The command of kubeadm's manifest is understood as it stands; what it lacks here is the kubeconfig."""
    command = re.findall(r"^    - (kube-scheduler|--\S+)$", STATIC_POD.read_text(), re.M)
    assert command[0] == "kube-scheduler" and "--leader-elect=true" in command, f"{STATIC_POD}: {command}"
    missing = machine.scratch / "scheduler.conf"
    command = [part.replace("/etc/kubernetes/scheduler.conf", str(missing)) for part in command]
    done = subprocess.run(command, env={"PATH": str(machine.path / "usr/local/bin")}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 1 and str(missing) in done.stdout, f"ended with {done.returncode}:\n{done.stdout}"


def check_plugin(machine):
    """From the template to a decision, with the packages alone."""
    source, built = machine.scratch / "prefer_rack", machine.scratch / "built"
    shutil.copytree(machine.path / "usr/share/berth/template", source)
    run("cmake", "-S", source, "-B", built, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={machine.path / 'usr'}")
    assert str(machine.path) in (built / "CMakeCache.txt").read_text(), "another SDK was found"
    run("cmake", "--build", built)
    file = machine.path / "usr/lib/berth/plugins/site/prefer_rack.so"
    shutil.copy(built / "prefer_rack.so", file)
    pin = re.search(r"sha256: ([0-9a-f]{64})", machine.berth("plugin", "inspect", file))
    (machine.scratch / "berth.yaml").write_text(
        (source / "berth.yaml").read_text() +
        "---\napiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nplugins:\n"
        f"  files: [{{file: site/prefer_rack.so, sha256: {pin[1]}}}]\n")
    machine.berth("config", "check", "berth.yaml")
    shown = machine.berth("simulate", "--cluster", source / "cluster.yaml", "--config", "berth.yaml")
    assert re.search(r"default +web +in-r1", shown), shown
    file.unlink()
    pkg_config = {**os.environ, "PKG_CONFIG_LIBDIR": str(machine.path / "usr/share/pkgconfig")}
    assert str(machine.path / "usr/include") in os.path.realpath(
        run("pkg-config", "--cflags-only-I", "berth-plugin", env=pkg_config).strip()[2:]), "pkg-config points elsewhere"


def files_below(root):
    return {f"/{p.relative_to(root)}": p for p in root.rglob("*") if p.is_file() and not p.is_symlink()}


def make_image(root, package):
    run(*AS_ROOT, ROOT / "scripts/lib/image_root.sh", "--whole", root, package, env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"})


def seen_from_outside(root):
    """All that an image layer keeps of a root: names, kinds, modes, owners, times, content."""
    def content(path):
        if path.is_symlink():
            return os.readlink(path)
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    stats = {str(p.relative_to(root)): (p.lstat(), content(p)) for p in [root, *root.rglob("*")]}
    return {name: (s.st_mode, s.st_uid, s.st_gid, s.st_mtime, text) for name, (s, text) in stats.items()}


def differences(one, other):
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def check_same_again(machine, build, out):
    """Made by another user's habits in another time zone, later, from files that were touched, nothing differs."""
    again = out / "again"
    shutil.rmtree(again, ignore_errors=True)
    for path in (build / "package").rglob("*"):
        os.utime(path, follow_symlinks=False)
    run("bash", "-c", 'umask 077; TZ=Asia/Tokyo exec "$@"', "bash", ROOT / "scripts/package", "--build", build, "--out", again)
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in machine.packages.values()}
    made = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in again.glob("*.deb")}
    assert sums == made, f"the second packages differ: {differences(sums, made)}"
    root, second = machine.scratch / "image", machine.scratch / "image-again"
    make_image(second, again / machine.packages["berth"].name)
    second.chmod(0o755)
    os.utime(second, (1790000000, 1790000000))
    os.utime(root, (1790000000, 1790000000))  # after the chmod of another check
    odd = differences(seen_from_outside(root), seen_from_outside(second))
    assert not odd, f"the second image differs: {odd[:20]}"
    times = {s[3] for s in seen_from_outside(second).values()}
    assert times == {1790000000}, f"times: {sorted(times)[:5]}"


def check_pins(_):
    """The image is made of what has a digest, at a time that is given, or not at all."""
    steps = (ROOT / "conf/deploy/Dockerfile").read_text()
    assert re.search(r"^ARG BASE$", steps, re.M) and "ARG BASE=" not in steps, "the base image has a default"
    assert 'RUN scripts/lib/pinned.sh "${BASE}" "${SOURCE_DATE_EPOCH}"' in steps, "nothing looks at the arguments"
    digest = "debian:12@sha256:" + "0123456789abcdef" * 4
    for base, time in (("debian:12", "1790000000"), (digest[:-1], "1790000000"), ("", "1790000000"), (digest, ""),
                       (digest, "today")):
        run(ROOT / "scripts/lib/pinned.sh", base, time, expect=1)
    run(ROOT / "scripts/lib/pinned.sh", digest, "1790000000")


def check_image(machine):
    """What the Dockerfile copies into an empty image: enough to decide with, and nothing to go on with."""
    root = machine.scratch / "image"
    make_image(root, machine.packages["berth"])
    files = files_below(root)
    programs = {name for name, path in files.items() if path.stat().st_mode & 0o111 and ".so" not in path.name}
    assert programs == {"/usr/bin/berth"}, f"programs: {sorted(programs)}"
    odd = [name for name, path in files.items() if path.stat().st_mode & 0o6022]
    assert not odd, f"others may write to, or gain rights by, {odd}"
    # As a container would: nothing but this root, a user without rights, no environment.
    inside = [shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")]
    inside = [*inside, "--userspec=65532:65532"] if os.geteuid() == 0 else ["/usr/bin/unshare", "--map-root-user", *inside]
    root.chmod(0o755)
    shown = run(*inside, root, "/usr/local/bin/../../bin/berth", "simulate", "--cluster",
                "/usr/share/berth/examples/cluster.yaml", "--plugin-dir", "/usr/lib/berth/plugins", env={})
    assert re.search(r"9 nodes, 29 pods: 18 placed", shown), shown
    assert os.path.realpath(root / "usr/local/bin/kube-scheduler") == str(root.resolve() / "usr/bin/berth")
    assert "FROM scratch" in (ROOT / "conf/deploy/Dockerfile").read_text(), "the image starts from something else"


def check_bill_of_materials(machine):
    root = machine.scratch / "image"
    bill = json.loads((root / "usr/share/berth/sbom.spdx.json").read_text())
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["dataLicense"] == "CC0-1.0", bill["spdxVersion"]
    listed = {f["fileName"][1:]: {c["algorithm"]: c["checksumValue"] for c in f["checksums"]} for f in bill["files"]}
    there = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files_below(root).items()}
    there.pop("/usr/share/berth/sbom.spdx.json")
    assert {name: sums["SHA256"] for name, sums in listed.items()} == there, "the bill and the image differ"
    packages = {p["name"]: p for p in bill["packages"]}
    for name in ("libc6", "libssl3", "libstdc++6", "libyaml-cpp0.7", "ca-certificates", "libboost1.81-dev"):
        version = run("dpkg-query", "--show", "--showformat=${Version}", name)
        assert packages[name]["versionInfo"] == version, f"{name}: {packages[name]}"
        assert packages[name]["externalRefs"][0]["referenceLocator"].startswith(f"pkg:deb/debian/{name}@"), packages[name]
    elements = {e["SPDXID"] for e in [*bill["packages"], *bill["files"], bill]}
    assert len(elements) == 1 + len(bill["packages"]) + len(bill["files"]), "two elements have one name"
    ends = {end for r in bill["relationships"] for end in (r["spdxElementId"], r["relatedSpdxElement"])}
    assert elements - {"SPDXRef-DOCUMENT"} <= ends <= elements, f"nothing relates to {sorted(elements ^ ends)}"


def check_manual(machine):
    folder = machine.path / "usr/share/man/man1"
    helps = {"berth.1.gz": [], "berth-run.1.gz": ["run"], "berth-simulate.1.gz": ["simulate"],
             "berth-config.1.gz": ["config", "check"], "berth-plugin.1.gz": ["plugin", "inspect"]}
    for name, command in helps.items():
        page = gzip.decompress((folder / name).read_bytes()).decode().replace("\\-", "-")
        for option in set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", machine.berth(*command, "--help"), re.M)):
            assert f"\\fB{option}\\fR" in page, f"{name} lacks {option}"
    return [(["mandoc", "-T", "lint", "-W", "warning"], sorted(folder.iterdir()))]


def complete(machine, *line):
    """What bash offers for a command line whose last word is being written."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf "%s\\n" "${COMPREPLY[@]}"')
    file = machine.path / "usr/share/bash-completion/completions/berth"
    return run("bash", "-c", script, "bash", file, *line, cwd=machine.scratch).split()


def check_completion(machine):
    assert complete(machine, "berth", "si") == ["simulate"]
    assert complete(machine, "berth", "plugin", "") == ["-h", "--help", "inspect", "new", "verify", "bench"]
    assert complete(machine, "berth", "simulate", "--exp") == ["--explain"]
    assert complete(machine, "berth", "simulate", "-o", "y") == ["yaml"]
    assert "--leader-elect-resource-name" in complete(machine, "berth", "run", "--leader")
    (machine.scratch / "my.yaml").touch()
    assert "my.yaml" in complete(machine, "berth", "config", "check", "my")
    return [(["zsh", "-n"], [machine.path / "usr/share/zsh/vendor-completions/_berth"]),
            (["fish", "-n"], [machine.path / "usr/share/fish/vendor_completions.d/berth.fish"])]


def check_with_tools(machine, looks, missing):
    unit = machine.scratch / "berth.service"
    installed = (machine.path / "lib/systemd/system/berth.service").read_text()
    unit.write_text(installed.replace("/usr/bin", f"{machine.path}/usr/bin"))
    looks = looks + [(["lintian", "--allow-root", "--fail-on", "error,warning"], list(machine.packages.values())),
                     (["systemd-analyze", "verify", "--man=no"], [unit])]
    for command, files in looks:
        if shutil.which(command[0]):
            for file in files:
                run(*command, file)
        else:
            missing.append(command[0])


def remove(machine):
    edited = machine.path / "etc/berth/berth.yaml"
    machine.dpkg("--remove", "berth", "berth-plugin-dev")
    assert edited.is_file(), "removing took the configuration with it"
    machine.dpkg("--purge", "berth", "berth-plugin-dev")
    left = [str(p) for top in ("etc", "lib", "usr/bin", "usr/include", "usr/lib", "usr/share")
            for p in (machine.path / top).glob("**/*") if p.is_file()]
    assert not left, f"left behind: {left}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    attempt, missing = Attempts(), []
    options.out.mkdir(parents=True, exist_ok=True)
    machine = attempt("packages are made", lambda: Machine(options.build.resolve(), options.out.resolve()))
    if machine is not None:
        attempt("what packages say about themselves", lambda: check_packages(machine))
        if attempt("both install into a clean root", lambda: install(machine)) is not None:
            attempt("everything is in its place", lambda: check_places(machine))
            attempt("links of its documents lead somewhere", lambda: check_links(machine))
            if (options.build / "sdk_site/html/index.html").exists():
                attempt("so do those of its site", lambda: check_site(machine))
            attempt("simulates from there", lambda: check_simulation(machine))
            attempt("configurations are good", lambda: check_configurations(machine))
            attempt("understands kubeadm's command line", lambda: check_kubeadm_command_line(machine))
            if attempt("is an image", lambda: check_image(machine)) is not None:
                attempt("knows what is in it", lambda: check_bill_of_materials(machine))
                attempt("is the same when it is made again",
                        lambda: check_same_again(machine, options.build.resolve(), options.out.resolve()))
            attempt("is made of what is pinned", lambda: check_pins(machine))
            attempt("builds a plugin and uses it", lambda: check_plugin(machine))
            looks = (attempt("man pages have every option", lambda: check_manual(machine)) or [])
            looks += (attempt("bash completes", lambda: check_completion(machine)) or [])
            attempt("tools find nothing", lambda: check_with_tools(machine, looks, missing))
            attempt("can be removed", lambda: remove(machine))
        shutil.rmtree(machine.scratch, ignore_errors=True)

    for name in missing:
        print(f"not looked at: {name} is not installed")
    return attempt.end()


sys.exit(main())
