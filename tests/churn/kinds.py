# SPDX-License-Identifier: Apache-2.0
"""Pods of all kinds that a scheduler tells apart, and the objects that they name: classes of priority, volumes, a budget.

There is no controller of volumes: claims are bound when they are made, so that nodes of one zone can have them. What no class,
claim or budget is needed for comes from cluster.py.
"""
from cluster import NAMESPACE, ZONES, drawn_pod, pod

CORE = f"/api/v1/namespaces/{NAMESPACE}"
CLAIMS = 60
# The pods of these kinds may wait for others of their kind to end, for as long as those like.
CROWDED = "crowded-"
POOL = "pool-7"  # for which too many pods ask


def build(client):
    """What the pods of draw() name."""
    for name, value, policy in (("urgent", 100000, "PreemptLowerPriority"), ("soon", 1000, "Never")):
        client.made("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy})
    client.made("/apis/storage.k8s.io/v1/storageclasses", {
        "metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"})
    for number in range(CLAIMS):
        claim(client, number)
    client.made(f"{CORE}/services", {"metadata": {"name": "all"}, "spec": {"selector": {"tier": "web"}, "ports": [{"port": 80}]}})
    guard = {"metadata": {"name": "guard"}, "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"guarded": "yes"}}}}
    client.made(f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets", guard)


def claim(client, number):
    """A claim that is bound to a volume of one zone; one of ten is for one pod at a time."""
    name, mode = f"claim-{number}", "ReadWriteOncePod" if number % 10 == 9 else "ReadWriteMany"
    spec = {"accessModes": [mode], "storageClassName": "local"}
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [f"zone-{number % ZONES}"]}
    client.made("/api/v1/persistentvolumes", {"metadata": {"name": f"volume-{number}"}, "spec": {
        **spec, "capacity": {"storage": "1Gi"}, "local": {"path": "/mnt"}, "persistentVolumeReclaimPolicy": "Retain",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": NAMESPACE, "name": name}}})
    bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    client.made(f"{CORE}/persistentvolumeclaims", {"metadata": {"name": name, "annotations": bound}, "spec": {
        **spec, "volumeName": f"volume-{number}", "resources": {"requests": {"storage": "1Gi"}}}})
    client.patched(f"/api/v1/persistentvolumes/volume-{number}/status", {"status": {"phase": "Bound"}})
    client.patched(f"{CORE}/persistentvolumeclaims/{name}/status", {"status": {
        "phase": "Bound", "accessModes": [mode], "capacity": {"storage": "1Gi"}}})


def draw(rng, number):
    """One pod of three is of a kind of this file."""
    kind = KINDS.get(int(rng.random() * 36))
    return drawn_pod(rng, number) if kind is None else kind(rng, number)


def terms(**labels):
    return {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": labels}}


def together(rng, number):
    """In a zone with others of its kind; the first is its own companion."""
    app = f"pair-{number % 8}"
    return pod(f"p-{number}", rng.choice((100, 200)), labels={"pair": app}, affinity={"podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [terms(pair=app)],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 30, "podAffinityTerm": terms(tier="web")}]}})


def spread(rng, number):
    """No zone has many more of its kind than another; hosts preferably not either."""
    app = {"matchLabels": {"spread": f"s-{number % 6}"}}
    return pod(f"p-{number}", rng.choice((100, 300)), labels={"spread": f"s-{number % 6}", "tier": "web"},
               topologySpreadConstraints=[
                   {"maxSkew": 40, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app},
                   {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": app}])


def wishes(rng, number):
    """Required and preferred terms about nodes."""
    zone = lambda *values: {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": values}]}  # noqa: E731
    return pod(f"p-{number}", rng.choice((100, 200)), labels={"tier": "web"}, affinity={"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [zone("zone-0", f"zone-{1 + number % 2}")]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": rng.choice((1, 50)), "preference": zone("zone-0")}]}})


def with_volume(rng, number):
    """With a claim of one zone, which others use too."""
    claimed = rng.randrange(CLAIMS)
    # Claims for one pod at a time are waited for.
    start = CROWDED if claimed % 10 == 9 else "p-"
    return pod(f"{start}{number}", 100, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"claim-{claimed}"}}])


def crowded(rng, number):
    """Too many for their pool of nodes; some are more urgent, some are guarded by a budget, some take a while to end."""
    spec, labels = {"nodeSelector": {"pool": POOL}}, {}
    kind = rng.random()
    if kind < 0.25:
        spec["priorityClassName"] = "urgent"
    elif kind < 0.4:
        spec["priorityClassName"] = "soon"
    elif kind < 0.6:
        labels["guarded"] = "yes"
    made = pod(f"{CROWDED}{number}", rng.choice((300, 600)), labels=labels, **spec)
    if kind > 0.8:
        made["spec"]["terminationGracePeriodSeconds"] = 30  # there is no kubelet: it ends when the churn ends it
    return made


def sidecars(rng, number):
    """Containers that start before others, and one that stays as long as they do."""
    made = pod(f"p-{number}", 100, labels={"tier": "web"})
    amounts = lambda milli: {"requests": {"cpu": f"{milli}m", "memory": "32Mi"}}  # noqa: E731
    made["spec"]["initContainers"] = [
        {"name": "side", "image": "registry.example.com/side:1", "restartPolicy": "Always", "resources": amounts(50)},
        {"name": "init", "image": "registry.example.com/init:1", "resources": amounts(rng.choice((100, 400)))}]
    return made


KINDS = {0: together, 1: together, 2: spread, 3: spread, 4: wishes, 5: wishes, 6: with_volume, 7: with_volume, 8: crowded,
         9: crowded, 10: sidecars, 11: sidecars}
