// SPDX-License-Identifier: Apache-2.0
// What the page shows, and the elements that show it. Text reaches the page as text only: never as markup.

let data, nodes, pods, podOf, nodeOf, pending;

/** Nodes and pods of the data as objects. */
function objectsOf(from) {
  const nodes = from.nodes.names.map((name, index) => ({ name, index, cordoned: false, pods: [] }));
  for (const index of from.nodes.cordoned) nodes[index].cordoned = true;
  const pods = from.pods.list.map(([ns, name, state, node, message, priority, attempts, detail, created, word], index) => ({
    index, key: `${from.pods.namespaces[ns]}/${name}`, state: from.pods.states[state], node: node < 0 ? null : nodes[node],
    message: message < 0 ? "" : from.pods.messages[message], priority, attempts, detail: from.details[detail] ?? null,
    waits: created && node < 0 ? from.live.at - created : null, word: word ?? null,
  }));
  for (const pod of pods) if (pod.node && pod.state !== "finished") pod.node.pods.push(pod);
  return { nodes, pods };
}

const isPending = (pod) => pod.state === "pending" || pod.state === "gated";

/** What all views are about. */
function takeData(text) {
  data = JSON.parse(text);
  ({ nodes, pods } = objectsOf(data));
  podOf = new Map(pods.map((pod) => [pod.key, pod]));
  nodeOf = new Map(nodes.map((node) => [node.name, node]));
  pending = pods.filter(isPending);
}
takeData(document.getElementById("data").textContent);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "selected") made[name] = value;
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child != null) made.append(child);
  return made;
}

const link = (place, text) => element("a", { href: "#" + place }, text);
const podLink = (pod) => link("pod/" + encodeURIComponent(pod.key), pod.key);
const nodeLink = (node) => link("node/" + encodeURIComponent(node.name), node.name);
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function table(heads, rows, caption) {
  const head = heads.map((text) =>
    element("th", { scope: "col", class: text.startsWith("#") ? "number" : null }, text.replace(/^#/, "")));
  const body = rows.map((cells) =>
    element("tr", null, cells.map((cell, i) =>
      cell instanceof HTMLTableCellElement ? cell
        : element("td", { class: heads[i].startsWith("#") ? "number" : null }, cell))));
  return element("div", { class: "scroll" }, element("table", null,
    element("caption", { class: "hidden" }, caption), element("thead", null, element("tr", null, head)),
    element("tbody", null, body)));
}

/** Rows that are shown a page at a time: `row(item)` gives the cells. */
function longTable(heads, items, row, caption, step = 100) {
  const place = element("div");
  let shown = 0;
  const more = () => {
    shown = Math.min(items.length, shown + step);
    const left = items.length - shown;
    place.replaceChildren(table(heads, items.slice(0, shown).map(row), caption));
    if (left > 0) place.append(element("p", null, element("button", { type: "button", onclick: more },
      `Show more (${left.toLocaleString("en")} left)`)));
  };
  more();
  return place;
}

/** How long, in the two largest units that say something. */
function span(seconds) {
  if (seconds < 120) return `${Math.max(0, seconds)} s`;
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  return minutes < 120 ? `${minutes} min` : hours < 48 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`;
}

function amount(value, unit) {
  if (unit === "milli") return String(Math.round(value) / 1000);
  if (unit !== "bytes") return String(value);
  let step = 0;
  while (Math.abs(value) >= 1024 && step < 5) { value /= 1024; ++step; }
  return `${Math.round(value * 10) / 10}${["", "Ki", "Mi", "Gi", "Ti", "Pi"][step]}`;
}

/** 0 to 1 and above, or null where a node has none of it. */
function share(resource, index) {
  const most = resource.allocatable[index], used = resource.requested[index];
  return most > 0 ? used / most : used > 0 ? 1 : null;
}

function usage(resource, index) {
  const part = share(resource, index);
  if (part === null) return "–";
  const fill = element("i", { class: part >= 0.9 ? "full" : null });
  fill.style.width = `${Math.min(100, part * 100)}%`;
  return element("span", null, element("span", { class: "bar", "aria-hidden": "true" }, fill),
    `${Math.floor(part * 100)} %  ${amount(resource.requested[index], resource.unit)} of ${amount(resource.allocatable[index], resource.unit)}`);
}

/** Node indices out of [first, count, first, count, …]. */
function* indices(ranges) {
  for (let i = 0; i < ranges.length; i += 2) for (let k = 0; k < ranges[i + 1]; ++k) yield ranges[i] + k;
}
const countOf = (ranges) => ranges.reduce((sum, value, i) => (i % 2 ? sum + value : sum), 0);
const words = (cause) => `${cause.plugin}: ${cause.reasons.join(", ")}`;
