// SPDX-License-Identifier: Apache-2.0
// The pages: why pods are pending, one pod, one node, all pods, plugins.

function fitList(fit, most) {
  if (!fit) return null;
  const lines = fit.options.slice(0, most).map((option) => element("li", null,
    option.kind === "newNode" || option.kind === "removePod" ? option.text : `${option.text}: `,
    option.kind === "newNode" || option.kind === "removePod" ? null : element("span", { class: "count" }, plural(option.nodes, "node")),
    option.kind !== "newNode" && option.onNodes.length ? element("span", { class: "soft" },
      `  (${option.onNodes.slice(0, 3).join(", ")}${option.nodes > 3 ? ", …" : ""})`) : null));
  if (!lines.length && fit.together) lines.push(element("li", null,
    `No single change. On ${fit.together.node}: ${fit.together.changes.map((change) => change.text).join(", and ")}`));
  if (fit.fitsNow) lines.push(element("li", null, `on ${plural(fit.fitsNow, "node")} as it is: what keeps it waiting is its group, ` +
    "a step after the choice of a node, or that it was not tried since"));
  if (!lines.length) lines.push(element("li", null, 
    fit.left ? `with no change of the pod: with every one, ${fit.left}`
      : fit.complete === false ? "with no change that was found" : "with no change that is known"));
  return element("div", { class: "fit" }, element("strong", null, "It would fit"), element("ul", null, lines),
    fit.complete === false ? element("span", { class: "soft" }, "not all was tried: questions or time ran out") : null,
    fit.options.length > most ? element("span", { class: "soft" }, `and ${plural(fit.options.length - most, "more way")}`) : null);
}

/** For how long, and what the scheduler does with it. */
const waiting = (pod) => span(pod.waits) + (pod.word ? `, ${pod.word.place}` +
  (pod.attempts ? `, ${plural(pod.attempts, "attempt")}` : "") : "");

function pendingView() {
  if (!pending.length) return [element("h2", null, "No pod is pending"),
    element("p", { class: "soft" }, `${plural(pods.length, "pod")} on ${plural(nodes.length, "node")}.`)];
  const groups = new Map();
  for (const pod of pending) {
    // Of those that were not tried yet, a live cluster tells no cause: the policies that were asked here do.
    const key = (pod.message || pod.state) + (pod.message === data.untried && pod.detail ? `\n${pod.detail.pod}` : "");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(pod);
  }
  const order = [...groups].sort((a, b) => b[1].length - a[1].length);
  for (const [, members] of order) members.sort((a, b) => (b.waits ?? 0) - (a.waits ?? 0));
  return [element("h2", null, `${plural(pending.length, "pod")} pending, for ${plural(order.length, "reason")}`),
    ...order.slice(0, 100).map(([, members]) => {
      const message = members[0].message || members[0].state;
      const causes = members.find((pod) => pod.detail)?.detail;
      const list = element("ul", { class: "pods" });
      const fill = (count) => list.replaceChildren(...members.slice(0, count).map((pod) => element("li", null, podLink(pod),
        pod.waits === null ? null : element("span", { class: "soft" }, "  " + waiting(pod)))),
        ...(members.length > count ? [element("li", null, element("button", { type: "button", onclick: () => fill(count + 500) },
          `${(members.length - count).toLocaleString("en")} more`))] : []));
      fill(12);
      return element("section", { class: "panel", "aria-label": message },
        element("p", { class: "cause" }, element("span", { class: "count" }, plural(members.length, "pod")), ": " + message,
          members[0].waits === null || members.length === 1 ? null
            : element("span", { class: "soft" }, `  (the first for ${span(members[0].waits)})`)),
        causes ? fitList(causes.fit, 4) : null, list);
    }),
    order.length > 100 ? element("p", { class: "soft" }, `and ${plural(order.length - 100, "more reason")}`) : null];
}

const k_cause_colours = ["c2", "c5", "c4", "c1", "c0"];
function causesOf(detail) {
  return detail.preFilter ? [{ ...detail.preFilter, nodes: [] }] : detail.rejected;
}

function podView(pod) {
  const detail = pod.detail;
  const time = (text) => new Date(text).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
  const facts = [["State", pod.state], ["Node", pod.node ? nodeLink(pod.node) : "none"], ["Priority", String(pod.priority)],
    ...(!data.live || pod.word ? [["Attempts", String(pod.attempts)]] : []),
    ...(pod.waits === null ? [] : [["Waits for", span(pod.waits)]]),
    ...(pod.word ? [["In the queue", pod.word.place]] : []),
    ...(pod.word?.nextTry ? [["Tried again", time(pod.word.nextTry)]] : []),
    ...(pod.word?.triedAgainBy ? [["Tried again by", time(pod.word.triedAgainBy)]] : [])];
  const out = [element("h2", null, "Pod " + pod.key),
    element("p", null, facts.flatMap(([name, value], i) => [i ? "  ·  " : "", element("span", { class: "soft" }, name + " "), value])),
    pod.message ? element("p", { class: "panel cause" }, pod.message) : null,
    pod.word?.wokenBy.length ? element("p", { class: "soft" }, `Retried sooner on: ${pod.word.wokenBy.join(", ")}`) : null];
  if (!detail) {
    const alike = pod.state === "pending" && pod.message !== data.untried && pending.find((other) => other.detail && other.message === pod.message);
    if (pod.state === "pending") out.push(element("p", { class: "soft" },
      `It was not looked at in detail. berth explain ${pod.key} … does.`,
      ...(alike ? [" What would make it fit is said of ", podLink(alike), ", which has the same reason."] : [])));
    return out;
  }
  if (detail.pod !== pod.index) out.push(element("p", { class: "soft" }, "As of ", podLink(pods[detail.pod]),
    ", which is of the same workload and got the same answer."));
  if (detail.fit) out.push(element("h3", null, "What would make it fit"), fitList(detail.fit, 50));
  const causes = causesOf(detail);
  out.push(element("h3", null, "Who rejects which nodes"),
    table(["#Nodes", "Plugin", "Reason"], causes.map((cause) =>
      [countOf(cause.nodes).toLocaleString("en"), cause.plugin, cause.reasons.join(", ")]), "Rejections by plugin"));
  if (detail.preFilter) {
    out.push(element("p", null, "It was rejected before any node was considered."));
    return out;
  }
  const causeOf = new Map();
  causes.forEach((cause, i) => { for (const index of indices(cause.nodes)) causeOf.set(index, i); });
  const judged = nodes.filter((node) => causeOf.has(node.index) || detail.feasible.length);
  const feasible = new Set(indices(detail.feasible));
  const classOf = (node) => feasible.has(node.index) ? "c3" : !causeOf.has(node.index) ? "none"
    : k_cause_colours[Math.min(causeOf.get(node.index), 4)];
  out.push(element("h3", null, "Where"), legend([...causes.slice(0, 5).map((cause, i) =>
    [k_cause_colours[i], words(cause) + (i === 4 && causes.length > 5 ? ", and others" : "")]),
    ...(feasible.size ? [["c3", "fits"]] : []), ["none", "left out before"]]),
    nodeMap(groupBy(mapLabel), classOf, (node) => [node.name, feasible.has(node.index) ? "fits"
      : causeOf.has(node.index) ? words(causes[causeOf.get(node.index)]) : "left out before nodes were looked at"],
      `Map of the nodes by what they say about ${pod.key}`));
  const plugins = [...new Set(causes.map((cause) => cause.plugin))];
  out.push(element("h3", null, "Nodes and policies"),
    element("p", { class: "soft" }, "A node stands under the policy that rejects it first."),
    longTable(["Node", ...plugins], judged, (node) => [nodeLink(node), ...plugins.map((plugin) => {
      const cause = causes[causeOf.get(node.index)];
      if (cause?.plugin === plugin) return element("td", { class: "no" }, cause.reasons.join(", "));
      return element("td", { class: feasible.has(node.index) ? "yes" : "away" }, feasible.has(node.index) ? "fits" : "·");
    })], "Nodes and the policies that reject them"));
  return out;
}

function nodeView(node) {
  const labels = Object.entries(data.nodes.labels).filter(([, label]) => label.of[node.index] >= 0)
    .map(([key, label]) => element("li", null, element("code", null, `${key}=${label.values[label.of[node.index]]}`)));
  return [element("h2", null, "Node " + node.name + (node.cordoned ? " (cordoned)" : "")),
    table(["Resource", "Requested"], data.nodes.resources.filter((resource) => share(resource, node.index) !== null)
      .map((resource) => [resource.name, usage(resource, node.index)]), "Resources of the node"),
    labels.length ? element("h3", null, "Labels") : null, labels.length ? element("ul", { class: "pods" }, labels) : null,
    element("h3", null, plural(node.pods.length, "pod")),
    longTable(["Pod", "State", "#Priority"], node.pods, (pod) => [podLink(pod), pod.state, pod.priority], "Pods on the node")];
}

let sought = "";
function podsView() {
  const place = element("div");
  const fill = () => {
    const parts = sought.toLowerCase().split(/\s+/).filter(Boolean);
    const found = pods.filter((pod) => parts.every((part) => pod.key.toLowerCase().includes(part) || pod.state === part ||
      (pod.node && pod.node.name.toLowerCase().includes(part))));
    place.replaceChildren(element("p", { class: "soft", "aria-live": "polite" }, plural(found.length, "pod")),
      longTable(["Pod", "State", "Node", "#Priority", "Why"], found, (pod) =>
        [element("td", { class: "name" }, podLink(pod)), element("td", { class: "line" }, pod.state),
          element("td", { class: "name" }, pod.node ? nodeLink(pod.node) : "–"), pod.priority, pod.message || ""], "Pods"));
  };
  fill();
  return [element("h2", null, "Pods"), element("div", { class: "controls" }, element("label", null, "Find by name, node or state",
    element("input", { type: "search", value: sought, id: "search", oninput: (event) => { sought = event.target.value; fill(); } }))), place];
}

function pluginsView() {
  const isCounted = data.plugins.some((plugin) => plugin.calls != null);
  const counted = (plugin) => (isCounted ? [(plugin.calls ?? 0).toLocaleString("en"), plugin.calls ? took(plugin.tookNs) : "–"] : []);
  return [element("h2", null, "Plugins"),
  isCounted ? element("p", { class: "soft" }, data.live ? "Calls since the scheduler began." : "Calls of this simulation.") : null,
  table(["Plugin", "Version", ...(isCounted ? ["#Calls", "#Time in calls"] : []), "Extension points", "File", "SHA-256"],
    data.plugins.map((plugin) => [element("td", { class: "line" }, plugin.name), plugin.version, ...counted(plugin),
      plugin.points.map((point) => point.replace(/^berth\.|\/1$/g, "")).join(", "),
      element("td", { title: plugin.file }, plugin.file.split("/").pop()),
      element("td", { class: "line", title: plugin.sha256 }, element("code", null, plugin.sha256.slice(0, 12)))]), "Plugins that are loaded")];
}
