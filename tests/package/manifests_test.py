#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conf/deploy: what an operator applies.

    manifests_test.py --berth PROGRAM --plugins DIR --yaml-to-json PROGRAM --version TEXT

`kubectl kustomize`, `kubectl patch --local`, `kubectl set image --local`, `helm template` and `helm lint` work on files
alone; where one of the programs is not installed, what only it can show is named as not looked at. Ends with
"N passed, N failed".
"""
import argparse
import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from attempts import Attempts  # noqa: E402

DEPLOY = HERE.parents[1] / "conf/deploy"
CHART = DEPLOY / "helm/berth"

# What berth asks for with no plugin at all: (group, resource, verb). The rest is in the notes of the plugin files.
LEASE = {("coordination.k8s.io", "leases", verb) for verb in ("create", "get", "update", "watch")}
CORE = {("", resource, verb) for resource in ("nodes", "pods") for verb in ("get", "list", "watch")} | {
    ("", "pods/status", "patch"),
    ("", "events", "create"), ("", "events", "patch"),
    ("events.k8s.io", "events", "create"), ("events.k8s.io", "events", "patch"),
    ("authentication.k8s.io", "tokenreviews", "create"), ("authorization.k8s.io", "subjectaccessreviews", "create")}


class NotInstalled(Exception):
    pass


def run(*command, text="", expect=0):
    if not shutil.which(str(command[0])):
        raise NotInstalled(command[0])
    done = subprocess.run([str(c) for c in command], input=text, capture_output=True, text=True, timeout=120)
    if done.returncode != expect:
        raise RuntimeError(f"{' '.join(map(str, command))}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if expect else "")


class Tree:
    def __init__(self, options):
        self.options = options

    def parse(self, text):
        return json.loads(run(self.options.yaml_to_json, text=text))

    def read(self, path):
        return self.parse((DEPLOY / path).read_text())

    def kustomize(self, folder):
        version = re.search(r"v1\.(\d+)", run("kubectl", "version", "--client"))
        if version and int(version[1]) < 21:
            raise NotInstalled("a kubectl of 1.21 or later, which has the Kustomize of today")
        return self.parse(run("kubectl", "kustomize", folder))

    def template(self, *more):
        return self.parse(run("helm", "template", "berth", CHART, "--namespace", "kube-system", *more))


def named(documents, kind, name=None):
    found = [d for d in documents if d["kind"] == kind and name in (None, d["metadata"]["name"])]
    assert len(found) == 1, f"{kind} {name or ''}: {len(found)} of them"
    return found[0]


def pod_spec(documents):
    return named(documents, "Deployment")["spec"]["template"]["spec"]


def verbs_of(rules):
    return {(group, resource, verb) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"]}


def wanted_by_plugins(tree):
    files = sorted(tree.options.plugins.glob("*.so"))
    assert files, "no plugins"
    rules = tree.parse(run(tree.options.berth, "plugin", "inspect", "--rbac", *files))[0]["rules"]
    return verbs_of(rules)


# --- every file -------------------------------------------------------------------------------------------------------

def check_yaml(tree):
    for path in DEPLOY.rglob("*.yaml"):
        if "templates" not in path.parts:
            assert tree.read(path), f"{path} is empty"


def check_versions(tree):
    version = tree.options.version
    for path in [p for p in DEPLOY.rglob("*") if p.is_file()]:
        for tag in re.findall(r"registry\.example/berth:([\w.]+)", path.read_text()):
            assert tag == version, f"{path} says berth:{tag}, this is {version}"
    chart = tree.read("helm/berth/Chart.yaml")[0]
    assert (chart["version"], chart["appVersion"]) == (version, version), chart
    images = tree.read("kustomize/base/kustomization.yaml")[0]["images"]
    assert images == [{"name": "registry.example/berth", "newTag": version}], images


def check_configurations(tree):
    for path in ("static-pod/berth.yaml", "kustomize/base/berth.yaml", "package/berth.yaml"):
        shown = run(tree.options.berth, "config", "check", DEPLOY / path, "--plugin-dir", tree.options.plugins)
        assert "good: 1 profile" in shown, f"{path}: {shown}"
    # The policy that the example delivers is not here; everything else of the example is good.
    shown = run(tree.options.berth, "config", "check", DEPLOY / "kustomize/with-plugin/berth.yaml", "--plugin-dir",
                tree.options.plugins, expect=1)
    assert set(re.findall(r"BERTH-P\d+", shown)) <= {"BERTH-P001", "BERTH-P040"}, shown


def check_dump(tree):
    """What is to be fetched for `berth simulate` is all that the policies read, but for resources not all clusters have."""
    read = {resource for group, resource, verb in wanted_by_plugins(tree) if verb == "list" and "x-k8s.io" not in group}
    for path in (DEPLOY / "README.md", HERE.parents[1] / "README.md"):
        lists = re.findall(r"kubectl get (\S+) -A -o json \|[^|\n]* simulate", path.read_text().replace("\\\n", ""))
        assert len(lists) == 1, f"{path}: {lists}"
        missing = (read | {"nodes", "pods", "priorityclasses"}) - set(lists[0].split(","))
        assert not missing, f"{path}: the dump lacks {sorted(missing)}"


# --- what a bad day may cost ------------------------------------------------------------------------------------------

def bytes_of(quantity):
    number, unit = re.fullmatch(r"(\d+)(Ki|Mi|Gi)", quantity).groups()
    return int(number) << {"Ki": 10, "Mi": 20, "Gi": 30}[unit]


def check_memory(containers):
    """A container that grows is ended by itself, and not by a node that has nothing left."""
    assert containers, "no containers"
    for container in containers:
        resources = container.get("resources", {})
        asked, most = resources.get("requests", {}).get("memory"), resources.get("limits", {}).get("memory")
        assert asked and most, f"{container['name']} has no memory limit: {resources}"
        assert bytes_of(asked) <= bytes_of(most) <= 2 << 30, f"{container['name']}: {resources}"


def check_limits(tree):
    for path in ("kustomize/base/deployment.yaml", "kustomize/with-plugin/deliver-plugin.yaml"):
        spec = tree.read(path)[0]["spec"]["template"]["spec"]
        check_memory([*spec.get("initContainers", []), *spec.get("containers", [])])
        for volume in spec.get("volumes", []):
            if "emptyDir" in volume:
                most = (volume["emptyDir"] or {}).get("sizeLimit")
                assert most and bytes_of(most) <= 1 << 30, f"{path}: {volume} may grow"
    templates = (CHART / "templates/deployment.yaml").read_text()
    assert "emptyDir: {}" not in templates, "a volume of the chart may grow"
    assert templates.count("  resources:\n") == templates.count("  - name: deliver-") + 2, "a container without resources"
    values = tree.read("helm/berth/values.yaml")[0]
    check_memory([{"name": name, "resources": values[name]} for name in ("resources", "deliverResources")])


def check_network_policy(policy, deployment):
    """Port 10259 of these pods, for peers that are named: a rule without peers would let everybody in."""
    template = deployment["spec"]["template"]
    assert policy["spec"]["policyTypes"] == ["Ingress"], policy
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items(), policy
    (rule,) = policy["spec"]["ingress"]
    assert rule.get("from") and all(any(peer.values()) for peer in rule["from"]), f"everybody may connect: {rule}"
    (port,) = rule["ports"]
    (berth,) = template["spec"]["containers"]
    assert port["port"] in {p["name"] for p in berth["ports"]}, f"no port {port}"


def check_disruption_budget(budget, deployment):
    """One replica at a time, and never none at all that may go."""
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items(), budget
    assert budget["spec"]["maxUnavailable"] == 1 and "minAvailable" not in budget["spec"], budget
    assert deployment["spec"]["replicas"] >= 2, deployment["spec"]["replicas"]


def check_neighbours_of_the_deployment(tree):
    (deployment,) = tree.read("kustomize/base/deployment.yaml")
    resources = tree.read("kustomize/base/kustomization.yaml")[0]["resources"]
    for path, check in (("network-policy.yaml", check_network_policy),
                        ("pod-disruption-budget.yaml", check_disruption_budget)):
        assert path in resources, f"{path} is not applied"
        (document,) = tree.read(f"kustomize/base/{path}")
        check(document, deployment)


UNIT = {"MemoryMax", "TasksMax", "LimitNOFILE", "SystemCallFilter", "SystemCallErrorNumber", "ProtectProc", "ProtectSystem",
        "NoNewPrivileges", "MemoryDenyWriteExecute", "CapabilityBoundingSet", "PrivateUsers", "DynamicUser"}


def check_unit(tree):
    text = (DEPLOY / "package/berth.service").read_text()
    missing = UNIT - set(re.findall(r"^(\w+)=", text, re.M))
    assert not missing, f"berth.service lacks {sorted(missing)}"
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / "berth.service"
        unit.write_text(text.replace("/usr/bin/berth", "/bin/true"))
        shown = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    exposure = float(re.search(r"exposure level for berth.service: ([\d.]+)", shown)[1])
    assert exposure < 2.0, f"systemd-analyze security says {exposure}:\n{shown}"


# --- the static pod ---------------------------------------------------------------------------------------------------

def without(pod, *names):
    container = {k: v for k, v in pod["spec"]["containers"][0].items() if k not in names}
    return {**pod, "spec": {**pod["spec"], "containers": [container]}}


# What berth records of its decisions goes there; nothing else can be written.
STATE_MOUNT = {"name": "state", "mountPath": "/var/lib/berth"}


def check_state(volumes):
    """The volume of recordings is bounded, and goes with the pod."""
    (state,) = [v for v in volumes if v["name"] == "state"]
    assert state == {"name": "state", "emptyDir": {"sizeLimit": "320Mi"}}, state


def check_static_pod(tree):
    """Image, security context, memory and the volume of recordings; everything else is kubeadm's."""
    kubeadm = tree.parse((HERE / "kubeadm_manifest.yaml").read_text())[0]
    ours = tree.read("static-pod/kube-scheduler.yaml")[0]
    check_state(ours["spec"]["volumes"])
    assert STATE_MOUNT in ours["spec"]["containers"][0]["volumeMounts"]
    stateless = json.loads(json.dumps(ours))
    stateless["spec"]["volumes"] = [v for v in ours["spec"]["volumes"] if v["name"] != "state"]
    stateless["spec"]["containers"][0]["volumeMounts"].remove(STATE_MOUNT)
    differs = ("image", "securityContext", "resources")
    assert without(stateless, *differs) == without(kubeadm, *differs)
    (berth,), (theirs,) = ours["spec"]["containers"], kubeadm["spec"]["containers"]
    assert berth["securityContext"]["readOnlyRootFilesystem"] is True
    assert {**berth["resources"]["requests"], "memory": None} == {**theirs["resources"]["requests"], "memory": None}
    check_memory([berth])


def patched(tree, manifest, *patches):
    text = manifest
    for patch in patches:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            text = run("kubectl", "patch", "--local", "-f", file.name, "--type", "strategic", "--patch",
                       (DEPLOY / "static-pod" / patch).read_text(), "-o", "json")
    return json.loads(text)


def check_kubeadm_patches(tree):
    manifest = (HERE / "kubeadm_manifest.yaml").read_text()
    image = "patches/kube-scheduler+strategic.yaml"
    assert patched(tree, manifest, image) == tree.read("static-pod/kube-scheduler.yaml")[0]
    pod = patched(tree, manifest, image, "patches-configuration/kube-scheduler1+strategic.yaml")
    container = pod["spec"]["containers"][0]
    config = next(a.split("=")[1] for a in container["command"] if a.startswith("--config="))
    mounts = {m["mountPath"]: m for m in container["volumeMounts"]}
    assert str(pathlib.PurePath(config).parent) in mounts, mounts
    written = {path for path, mount in mounts.items() if not mount.get("readOnly")}
    assert written == {"/var/lib/berth"}, f"{written} are mounted for writing"
    assert {m["name"] for m in mounts.values()} == {v["name"] for v in pod["spec"]["volumes"]}
    kubeconfig = tree.read("static-pod/berth.yaml")[0]["clientConnection"]["kubeconfig"]
    assert kubeconfig in mounts, f"{kubeconfig} is not mounted"


# --- rights of berth and of kube-scheduler ----------------------------------------------------------------------------

# GpuShare writes the card into the pod: a right to change any pod, which only those give who enable it.
ON_DEMAND = {("", "pods", "patch")}


def check_cluster_role(tree):
    """Neither more nor less than berth and its own policies ask for; what one policy alone writes is a role of its own."""
    documents = tree.read("kustomize/base/rbac.yaml")
    given, needed = verbs_of(named(documents, "ClusterRole", "berth")["rules"]), CORE | wanted_by_plugins(tree) - ON_DEMAND
    volumes = verbs_of(named(documents, "ClusterRole", "berth-volume-binding")["rules"])
    wanted = run(tree.options.berth, "plugin", "inspect", "--rbac", tree.options.plugins / "volume_binding.so")
    writes = {right for right in verbs_of(tree.parse(wanted)[0]["rules"]) if right[2] not in ("get", "list", "watch")}
    assert volumes == writes and not volumes & given, f"{sorted(volumes)}, but VolumeBinding writes {sorted(writes)}"
    given |= volumes
    assert given == needed, f"lacks {sorted(needed - given)}, has in excess {sorted(given - needed)}"


def check_rights_of_kube_scheduler(tree):
    """In kube-scheduler's place, its own rights are enough."""
    roles = tree.parse((HERE / "kube_scheduler_roles.yaml").read_text())
    theirs = verbs_of([rule for role in roles for rule in role["rules"]])
    needed = CORE | wanted_by_plugins(tree) - ON_DEMAND | LEASE | {("", "configmaps", "get")}
    # Of a policy that kube-scheduler does not have; an operator who enables it grants them.
    missing = {right for right in needed if right[0] != "scheduling.x-k8s.io"} - theirs
    assert not missing, f"system:kube-scheduler may not {sorted(missing)}"


def check_lease_role(tree):
    documents = tree.read("kustomize/base/rbac.yaml")
    election = tree.read("kustomize/base/berth.yaml")[0]["leaderElection"]
    rules = named(documents, "Role")["rules"]
    assert verbs_of(rules) == LEASE, rules
    assert rules[1]["resourceNames"] == [election["resourceName"]], "the role is about another lease"
    assert election["resourceName"] != "kube-scheduler", "it would take the lease of kube-scheduler"
    assert tree.read("kustomize/base/kustomization.yaml")[0]["namespace"] == election["resourceNamespace"]


def check_pod(spec):
    """What holds for every rendering of the Deployment."""
    assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["runAsUser"] == 65532
    volumes = {v["name"]: v for v in spec["volumes"]}
    for container in [*spec["initContainers"], *spec["containers"]]:
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] is True and security["allowPrivilegeEscalation"] is False, security
        assert security["capabilities"]["drop"] == ["ALL"], security
        for mount in container["volumeMounts"]:
            assert mount["name"] in volumes, f"no volume {mount['name']}"
            delivers = container["name"].startswith("deliver-")
            readonly = mount.get("readOnly") is True
            assert delivers or readonly or mount == STATE_MOUNT, f"{container['name']}: {mount} can be written"
    check_state(spec["volumes"])
    (berth,) = spec["containers"]
    check = spec["initContainers"][-1]
    assert check["command"][:3] == ["berth", "config", "check"], "the configuration is not checked last"
    assert check["image"] == berth["image"] and check["volumeMounts"] == berth["volumeMounts"]
    assert f"--config={check['command'][3]}" in berth["command"], "another configuration is checked than used"
    ports = {p["name"]: p["containerPort"] for p in berth["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert ports[berth[probe]["httpGet"]["port"]] == 10259 and berth[probe]["httpGet"]["scheme"] == "HTTPS"
    return spec


def check_rolls(deployment):
    """No old pod goes before a new one is ready."""
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items(), "the selector misses its pods"


def check_bindings(documents):
    account = named(documents, "ServiceAccount")["metadata"]
    assert pod_spec(documents)["serviceAccountName"] == account["name"]
    roles = [d["metadata"]["name"] for d in documents if d["kind"] == "ClusterRole"]
    assert len(roles) == 2, roles
    wanted = {*(("ClusterRoleBinding", "ClusterRole", name) for name in roles),
              ("RoleBinding", "Role", named(documents, "Role")["metadata"]["name"]),
              ("RoleBinding", "Role", "extension-apiserver-authentication-reader")}  # every cluster has that one
    bindings = [d for d in documents if d["kind"].endswith("Binding")]
    assert {(b["kind"], b["roleRef"]["kind"], b["roleRef"]["name"]) for b in bindings} == wanted, bindings
    for binding in bindings:
        (subject,) = binding["subjects"]
        assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])


def check_kustomize(tree):
    documents = tree.kustomize(DEPLOY / "kustomize/base")
    spec = check_pod(pod_spec(documents))
    check_rolls(named(documents, "Deployment"))
    check_bindings(documents)
    check_memory([*spec["initContainers"], *spec["containers"]])
    check_network_policy(named(documents, "NetworkPolicy"), named(documents, "Deployment"))
    check_disruption_budget(named(documents, "PodDisruptionBudget"), named(documents, "Deployment"))
    config = named(documents, "ConfigMap")
    assert config["metadata"]["name"] == next(v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v)
    assert tree.parse(config["data"]["berth.yaml"]) == tree.read("kustomize/base/berth.yaml")


def check_kustomize_plugin(tree):
    documents = tree.kustomize(DEPLOY / "kustomize/with-plugin")
    spec = check_pod(pod_spec(documents))
    check_memory([*spec["initContainers"], *spec["containers"]])
    deliver = spec["initContainers"][0]
    (mount,) = deliver["volumeMounts"]
    target = next(m["mountPath"] for m in spec["containers"][0]["volumeMounts"] if m["name"] == mount["name"])
    files = tree.parse(named(documents, "ConfigMap")["data"]["berth.yaml"])[1]["plugins"]["files"]
    program, source, folder = deliver["command"]
    assert target.endswith("/site") and program == "cp" and folder == mount["mountPath"] + "/"
    assert [f"site/{pathlib.PurePath(source).name}"] == [f["file"] for f in files], files


def check_kustomize_rolls(tree):
    """Another configuration is another pod template."""
    before = tree.kustomize(DEPLOY / "kustomize/base")
    with tempfile.TemporaryDirectory() as temporary:
        edited = shutil.copytree(DEPLOY / "kustomize/base", pathlib.Path(temporary) / "base")
        with open(edited / "berth.yaml", "a") as file:
            file.write("podMaxBackoffSeconds: 20\n")
        after = tree.kustomize(edited)
    assert pod_spec(before) != pod_spec(after)


def lost(ours, theirs, path=""):
    """Paths of ours that are not in theirs, or differ there."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [p for key, value in ours.items() for p in lost(value, theirs.get(key), f"{path}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [p for i, value in enumerate(ours) for p in lost(value, theirs[i], f"{path}[{i}]")]
    return [] if ours == theirs else [path]


def check_types(tree, workload):
    """kubectl reads a workload into the API's own types and writes it out again: a field that they lack is gone."""
    # It writes nothing when nothing changes, so the one container that runs gets another image on both sides.
    workload = copy.deepcopy(workload)
    spec = workload["spec"] if workload["kind"] == "Pod" else workload["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    typed = json.loads(run("kubectl", "set", "image", "--local", "-f", "-", f"{container['name']}=another",
                           "-o", "json", text=json.dumps(workload)))
    container["image"] = "another"
    assert not lost(workload, typed), f"{workload['kind']}: the API does not know {lost(workload, typed)}"


def check_types_of_workloads(tree):
    check_types(tree, tree.read("static-pod/kube-scheduler.yaml")[0])
    for folder in ("base", "with-plugin"):
        check_types(tree, named(tree.kustomize(DEPLOY / "kustomize" / folder), "Deployment"))


# --- the chart --------------------------------------------------------------------------------------------------------

def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from leaves(below, (*path, key))
    else:
        yield ".".join(path)


def check_chart_values(tree):
    """Each value is used, each use is a value, and each is explained."""
    templates = "\n".join(p.read_text() for p in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values\.([\w.]+)", templates))
    text = (CHART / "values.yaml").read_text()
    values = set(leaves(tree.parse(text)[0]))
    unused = {v for v in values if not any(v == u or v.startswith(u + ".") for u in used)}
    unknown = {u for u in used if not any(v == u or v.startswith(u + ".") for v in values)}
    assert not unused and not unknown, f"unused {unused}, unknown {unknown}"
    keys = re.findall(r"((?:^ *#.*\n)*)^( *)(\w+):(.*)$", text, re.M)
    parent_explained = {"": False}
    for comment, indent, key, rest in keys:
        parent_explained[indent] = "# --" in comment
        explained = any(parent_explained.get(" " * i, False) for i in range(0, len(indent) + 1, 2))
        assert explained or not rest.strip(), f"values.yaml: {key} is not explained"


def check_chart_rules(tree):
    """The chart's ClusterRoles are the base's, word for word."""
    def rules(text):
        return re.findall(r"^kind: ClusterRole\n.*?^rules:\n(.*?)^(?:---|\{\{)", text, re.M | re.S)
    ours, bases = CHART / "templates/rbac.yaml", DEPLOY / "kustomize/base/rbac.yaml"
    assert rules(ours.read_text()) == rules(bases.read_text()) and len(rules(bases.read_text())) == 2


def but_for_pulling(container):
    return {k: v for k, v in container.items() if k != "imagePullPolicy"}


def check_chart_rendered(tree):
    run("helm", "lint", "--strict", CHART)
    documents = tree.template()
    spec = check_pod(pod_spec(documents))
    check_rolls(named(documents, "Deployment"))
    check_bindings(documents)
    check_types(tree, named(documents, "Deployment"))
    base = pod_spec([*tree.read("kustomize/base/deployment.yaml")])
    image = f"registry.example/berth:{tree.options.version}"
    for ours, theirs in zip(spec["initContainers"] + spec["containers"], base["initContainers"] + base["containers"]):
        assert but_for_pulling(ours) == {**theirs, "image": image}, f"{ours}\n{theirs}"
    config = tree.parse(named(documents, "ConfigMap")["data"]["berth.yaml"])
    assert config == tree.read("kustomize/base/berth.yaml"), config
    for name in ("berth", "berth-volume-binding"):
        base_role = named(tree.read("kustomize/base/rbac.yaml"), "ClusterRole", name)
        assert named(documents, "ClusterRole", name)["rules"] == base_role["rules"], name
    check_memory([*spec["initContainers"], *spec["containers"]])
    check_network_policy(named(documents, "NetworkPolicy"), named(documents, "Deployment"))
    check_disruption_budget(named(documents, "PodDisruptionBudget"), named(documents, "Deployment"))


def check_chart_values_rendered(tree):
    values = {"configuration": {"podMaxBackoffSeconds": 20, "leaderElection": {"leaseDuration": "20s"}},
              "lease": {"name": "other"},
              "berthConfiguration": {"plugins": {"files": [{"file": "site/prefer_rack.so"}]}},
              "plugins": [{"name": "prefer-rack", "image": "registry.example/prefer-rack:0.1.0",
                           "command": ["cp", "/prefer_rack.so", "/plugins/"]}],
              "rbac": {"extraRules": [{"apiGroups": ["example.com"], "resources": ["racks"], "verbs": ["list"]}]},
              "extraArgs": ["--v=2"], "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}],
              "affinity": {"nodeAffinity": {}}, "podAnnotations": {"c": "d"}, "imagePullSecrets": [{"name": "s"}],
              "serviceAccount": {"annotations": {"e": "f"}}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(values, file)
        file.flush()
        documents = tree.template("--values", file.name)
    spec = check_pod(pod_spec(documents))
    check_bindings(documents)
    check_types(tree, named(documents, "Deployment"))
    first, second = tree.parse(named(documents, "ConfigMap")["data"]["berth.yaml"])
    assert first["podMaxBackoffSeconds"] == 20 and first["kind"] == "KubeSchedulerConfiguration", first
    assert first["leaderElection"] == {"leaderElect": True, "resourceName": "other", "resourceNamespace": "kube-system",
                                       "leaseDuration": "20s"}, first
    assert second == {"apiVersion": "config.berth.dev/v1alpha1", "kind": "BerthConfiguration",
                      **values["berthConfiguration"]}, second
    assert spec["initContainers"][0]["name"] == "deliver-prefer-rack" and "--v=2" in spec["containers"][0]["command"]
    assert named(documents, "ClusterRole", "berth")["rules"][-1] == values["rbac"]["extraRules"][0]
    assert named(documents, "Role")["rules"][1]["resourceNames"] == ["other"]
    assert (spec["nodeSelector"], spec["tolerations"], spec["imagePullSecrets"]) == (
        values["nodeSelector"], values["tolerations"], values["imagePullSecrets"])

    def checksum(rendered):
        return named(rendered, "Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
    assert checksum(documents) != checksum(tree.template()), "another configuration, and no pod would be replaced"
    kinds = {d["kind"] for d in tree.template("--set", "rbac.create=false,serviceAccount.create=false,"
                                              "networkPolicy.create=false,podDisruptionBudget.create=false")}
    assert kinds == {"ConfigMap", "Deployment"}, kinds
    closed = named(tree.template("--set-json", "networkPolicy.from=[]"), "NetworkPolicy")
    assert closed["spec"]["ingress"] == [], closed
    without_volumes = tree.template("--set", "rbac.volumeBinding=false")
    assert named(without_volumes, "ClusterRole")["metadata"]["name"] == "berth", without_volumes


CHECKS = [check_yaml, check_versions, check_configurations, check_dump, check_limits,
          check_neighbours_of_the_deployment, check_unit, check_static_pod, check_kubeadm_patches,
          check_cluster_role, check_rights_of_kube_scheduler, check_lease_role, check_kustomize, check_kustomize_plugin,
          check_kustomize_rolls, check_types_of_workloads, check_chart_values,
          check_chart_rules, check_chart_rendered, check_chart_values_rendered]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True)
    parser.add_argument("--plugins", required=True, type=pathlib.Path)
    parser.add_argument("--yaml-to-json", required=True)
    parser.add_argument("--version", required=True)
    tree = Tree(parser.parse_args())
    attempt = Attempts(not_here=NotInstalled)
    for check in CHECKS:
        attempt(check.__name__, lambda: check(tree))
    return attempt.end()


sys.exit(main())
