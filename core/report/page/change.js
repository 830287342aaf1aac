// SPDX-License-Identifier: Apache-2.0
// What if: changes that are simulated on the server, and what they changed.

/** By the option of berth simulate: what it is called here, and what is asked for, by the name in the address. */
const k_changes = new Map([
  ["drain", { title: "Drain a node", fields: [{ name: "drain", text: "Node", list: "node-names" }] }],
  ["add-nodes", { title: "Add nodes", fields: [{ name: "add-nodes", text: "How many", type: "number", hint: "3" },
    { name: "like", text: "Like node", list: "node-names" }] }],
  ["remove-pods", { title: "Remove pods", fields: [{ name: "remove-pods", text: "Namespace:labels", hint: "shop:app=web" }] }],
  ["scale", { title: "Scale a workload", fields: [{ name: "scale", text: "Namespace/kind/name=pods", hint: "shop/Deployment/web=40" }] }],
]);
const k_names_offered = 1000;

/** [[["add-nodes", "3"], ["like", "a"]], …] */
function changesOf(search) {
  const changes = [];
  for (const [name, value] of new URLSearchParams(search.replaceAll("+", "%2B"))) {
    if (name === "like") changes.at(-1)?.push([name, value]);
    else if (k_changes.has(name)) changes.push([[name, value]]);
  }
  return changes;
}
const queryOf = (changes) => changes.length ? "?" + changes.flat().map((pair) => pair.map(encodeURIComponent).join("=")).join("&") : "";
const optionOf = (change) => change.map(([name, value]) => `--${name} ${value}`).join(" ");

function changeForm() {
  let changes = changesOf(location.search), kind = "drain", isBusy = false;
  const said = element("p", { id: "change-said", role: "status", class: "soft" });
  const list = element("ol", { id: "changes-made" });
  const fields = element("span", { class: "controls" });
  const names = element("datalist", { id: "node-names" });
  const button = element("button", { type: "submit" }, "Simulate it");

  function showList() {
    list.replaceChildren(...changes.map((change, i) => element("li", null, element("code", null, optionOf(change)),
      element("span", null, data.whatIf?.[i]?.effect ?? ""),
      element("button", { type: "button", "aria-label": `Remove ${optionOf(change)}`, onclick: () =>
        simulate(changes.filter((_, k) => k !== i)) }, "Remove"))));
    names.replaceChildren(...nodes.slice(0, k_names_offered).map((node) => element("option", { value: node.name })));
  }
  function showFields() {
    fields.replaceChildren(...k_changes.get(kind).fields.map((field) => element("label", null, field.text,
      element("input", { name: field.name, type: field.type ?? "text", list: field.list, placeholder: field.hint, required: "",
        min: field.type ? 1 : null, autocomplete: "off", maxlength: 1000 }))));
  }
  function simulate(wanted) {
    if (isBusy) return;
    isBusy = true;
    said.className = "soft";
    said.textContent = "Simulating …";
    button.setAttribute("aria-disabled", "true");
    ask(queryOf(wanted), (problem) => {
      isBusy = false;
      button.removeAttribute("aria-disabled");
      said.className = problem ? "problem" : "soft";
      said.textContent = problem ? `That is not done: ${problem}` : "";
      if (problem) return;
      changes = wanted;
      const wasInList = list.contains(document.activeElement);
      showList();
      showFields();
      if (wasInList) document.getElementById("change-kind").focus();
      if (changes.length) location.hash = "changed";
    });
  }
  const form = element("form", { class: "controls", onsubmit: (event) => {
    event.preventDefault();
    simulate([...changes, [...fields.querySelectorAll("input")].map((input) => [input.name, input.value.trim()])]);
  } },
    element("label", null, "What if", element("select", { id: "change-kind", onchange: (event) => { kind = event.target.value; showFields(); } },
      [...k_changes].map(([value, { title }]) => element("option", { value }, title)))),
    fields, button, names);
  showList();
  showFields();
  return element("section", { class: "change", "aria-label": "What if" }, form, list, said);
}

/** Before and after: what the changes did. */
function changedView() {
  const old = objectsOf(data.before), oldPod = new Map(old.pods.map((pod) => [pod.key, pod]));
  const where = (pod) => !pod ? "–" : pod.node ? pod.node.name : pod.state;
  const kinds = [
    ["Pending now", (a, b) => isPending(b) && !(a && isPending(a))],
    ["Pending before, placed now", (a, b) => a && isPending(a) && b.node],
    ["Moved to another node", (a, b) => a?.node && b.node && a.node.name !== b.node.name],
    ["New, and placed", (a, b) => !a && b.node],
  ].map(([title, test]) => [title, pods.filter((pod) => test(oldPod.get(pod.key), pod)).map((pod) => [oldPod.get(pod.key), pod])]);
  kinds.push(["Gone", old.pods.filter((pod) => !podOf.has(pod.key)).map((pod) => [pod, null])]);
  const counts = [["Nodes", old.nodes.length, nodes.length], ["Pods", old.pods.length, pods.length],
    ["Pods pending", old.pods.filter(isPending).length, pending.length],
    ...kinds.map(([title, found]) => [title, null, found.length]).slice(2, 3)];
  const difference = (a, b) => b === a ? "as before" : (b > a ? "+" : "−") + Math.abs(b - a).toLocaleString("en");
  const out = [element("h2", null, "What changed"),
    element("p", { class: "soft" }, "A simulation of the manifests with the changes above, next to one without them. No cluster is changed."),
    element("div", { class: "narrow" }, table(["", "#Before", "#After", "#Difference"], counts.map(([title, a, b]) => [element("th", { scope: "row" }, title),
      a === null ? "" : a.toLocaleString("en"), b.toLocaleString("en"), a === null ? "" : difference(a, b)]), "Counts before and after"))];
  for (const [title, found] of kinds) {
    if (!found.length) continue;
    out.push(element("h3", null, `${title} (${found.length.toLocaleString("en")})`),
      longTable(["Pod", "Before", "After", ...(found.some(([, b]) => b && isPending(b)) ? ["Why"] : [])], found, ([a, b]) => [
        element("td", { class: "name" }, b ? podLink(b) : a.key), element("td", { class: "name" }, where(a)),
        element("td", { class: "name" }, b?.node ? nodeLink(b.node) : b ? where(b) : "gone"),
        ...(b && isPending(b) ? [b.message] : [])], title, 20));
  }
  out.push(element("h3", null, "Use of nodes"), nodeUse(old));
  return out;
}

/** Nodes whose use is another, by the resources in which it is. */
function nodeUse(old) {
  const oldNode = new Map(old.nodes.map((node) => [node.name, node]));
  const newNames = new Set(nodes.map((node) => node.name));
  const of = (from, name) => from.nodes.resources.find((resource) => resource.name === name);
  const names = [...new Set([...data.nodes.resources, ...data.before.nodes.resources].map((resource) => resource.name))];
  const value = (from, name, node, part) => node ? of(from, name)?.[part][node.index] ?? 0 : null;
  const rows = [...nodes.map((node) => [oldNode.get(node.name) ?? null, node]),
    ...old.nodes.filter((node) => !newNames.has(node.name)).map((node) => [node, null])];
  const differs = (name) => ([a, b]) => (value(data.before, name, a, "requested") ?? 0) !== (value(data, name, b, "requested") ?? 0);
  const shown = names.filter((name) => rows.some(differs(name)));
  const changed = rows.filter((row) => !row[0] || !row[1] || shown.some((name) => differs(name)(row)));
  if (!changed.length) return element("p", { class: "soft" }, "The same on every node.");
  const cell = (name, a, b) => {
    const unit = (of(data, name) ?? of(data.before, name)).unit;
    const text = (from, node) => node ? amount(value(from, name, node, "requested"), unit) : "–";
    return `${text(data.before, a)} → ${text(data, b)} of ${amount(value(b ? data : data.before, name, b ?? a, "allocatable"), unit)}`;
  };
  return longTable(["Node", ...shown], changed, ([a, b]) => [
    element("td", null, b ? nodeLink(b) : a.name, a ? b?.cordoned && !a.cordoned ? " (drained)" : "" : " (new)"),
    ...shown.map((name) => cell(name, a, b))], "Use of nodes before and after", 50);
}
