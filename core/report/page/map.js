// SPDX-License-Identifier: Apache-2.0
// The cluster as a map: a cell per node, in groups by a label, coloured by a class of 0 to 5 or none.

const k_gap = 2;

/** Cells large enough to read where there are few nodes, and small enough to see all where there are many. */
function cellSize(count) {
  return count <= 12 ? { width: 148, height: 52 } : count <= 60 ? { width: 116, height: 40 }
    : count <= 300 ? { width: 56, height: 26 } : count <= 2000 ? { width: 22, height: 18 } : { width: 8, height: 8 };
}

/** groups: [{title, nodes}]; colour(node): "c0" to "c5" or "none"; describe(node): lines for people. */
function nodeMap(groups, colour, describe, label) {
  const count = groups.reduce((sum, group) => sum + group.nodes.length, 0);
  const size = cellSize(count);
  const canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": `${label}. Arrow keys move, Enter opens a node.` });
  const tip = element("div", { class: "tip", hidden: "" });
  const said = element("div", { class: "hidden", "aria-live": "polite" });
  const place = element("div", { class: "map" }, canvas, tip, said);
  let cells = [], width = 0, chosen = -1, perRow = 1;

  function layOut() {
    width = Math.max(320, place.clientWidth || 1200);
    perRow = Math.max(1, Math.floor((width + k_gap) / (size.width + k_gap)));
    cells = [];
    let y = 0;
    for (const group of groups) {
      group.y = y + 14;
      y += 22;
      group.nodes.forEach((node, i) => cells.push({
        node, x: (i % perRow) * (size.width + k_gap), y: y + Math.floor(i / perRow) * (size.height + k_gap) }));
      y += Math.ceil(group.nodes.length / perRow) * (size.height + k_gap) + 10;
    }
    return y;
  }
  function paint() {
    const height = layOut(), scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const style = getComputedStyle(document.documentElement), pen = canvas.getContext("2d");
    const named = (name) => style.getPropertyValue("--" + name).trim();
    const colours = new Map(["c0", "c1", "c2", "c3", "c4", "c5", "none"].map((name) => [name, named(name)]));
    const text = named("text"), panel = named("panel"), soft = named("soft");
    pen.scale(scale, scale);
    pen.textBaseline = "middle";
    pen.font = "13px system-ui, 'DejaVu Sans', sans-serif";
    pen.fillStyle = soft;
    for (const group of groups) pen.fillText(`${group.title}  (${group.nodes.length})`, 0, group.y - 4);
    pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    cells.forEach((cell, i) => {
      const name = colour(cell.node);
      pen.fillStyle = colours.get(name);
      pen.fillRect(cell.x, cell.y, size.width, size.height);
      if (cell.node.cordoned && size.width > 4) {
        pen.strokeStyle = text;
        pen.strokeRect(cell.x + 0.5, cell.y + 0.5, size.width - 1, size.height - 1);
        const from = size.width >= 100 ? size.width - 22 : 0;  // names stay readable
        pen.beginPath();
        pen.moveTo(cell.x + from, cell.y + (from ? 22 : size.height));
        pen.lineTo(cell.x + size.width, cell.y);
        pen.stroke();
      }
      if (size.width >= 100) {
        const isDark = document.documentElement.dataset.theme === "dark" ||
          (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
        const onDeep = isDark ? name === "c4" || name === "c5" || name === "c3" : name === "c3" || name === "c4" || name === "c5";
        pen.fillStyle = isDark ? (onDeep ? "#0b0f10" : text) : onDeep ? "#ffffff" : text;
        const lines = describe(cell.node);
        pen.save();
        pen.beginPath();
        pen.rect(cell.x + 4, cell.y, size.width - 8, size.height);
        pen.clip();
        pen.fillText(lines[0], cell.x + 6, cell.y + size.height / 3);
        if (lines[1]) pen.fillText(lines[1], cell.x + 6, cell.y + (size.height * 3) / 4);
        pen.restore();
      }
      if (i === chosen) {
        pen.lineWidth = 3;
        pen.strokeStyle = named("focus");
        pen.strokeRect(cell.x - 1, cell.y - 1, size.width + 2, size.height + 2);
        pen.lineWidth = 1;
        pen.strokeStyle = panel;
      }
    });
  }
  function choose(index) {
    chosen = index;
    paint();
    const cell = cells[index];
    tip.hidden = !cell;
    if (!cell) return;
    const lines = describe(cell.node);
    tip.textContent = lines.join("\n");
    tip.style.left = `${Math.min(cell.x, Math.max(0, width - 260))}px`;
    tip.style.top = `${cell.y + size.height + 6}px`;
    said.textContent = lines.join(", ");
  }
  const at = (event) => cells.findIndex((cell) => event.offsetX >= cell.x && event.offsetX < cell.x + size.width &&
    event.offsetY >= cell.y && event.offsetY < cell.y + size.height);
  const open = (cell) => { if (cell) location.hash = "node/" + encodeURIComponent(cell.node.name); };
  canvas.addEventListener("mousemove", (event) => { const index = at(event); if (index !== chosen) choose(index); });
  canvas.addEventListener("mouseleave", () => choose(-1));
  canvas.addEventListener("click", (event) => open(cells[at(event)]));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perRow, ArrowUp: -perRow }[event.key];
    if (step) {
      event.preventDefault();
      choose(Math.max(0, Math.min(cells.length - 1, chosen < 0 ? 0 : chosen + step)));
    } else if (event.key === "Enter") {
      open(cells[chosen]);
    }
  });
  onLayout(paint);
  return place;
}

/** Nodes in groups by the value of a label, the groups by name; without one in the last. */
function groupBy(key) {
  const label = data.nodes.labels[key];
  if (!label) return [{ title: "all nodes", nodes }];
  const groups = label.values.map((value) => ({ title: `${key.split("/").pop()}=${value}`, nodes: [] }));
  const without = { title: `without ${key}`, nodes: [] };
  nodes.forEach((node) => (label.of[node.index] < 0 ? without : groups[label.of[node.index]]).nodes.push(node));
  groups.sort((a, b) => (a.title < b.title ? -1 : 1));
  if (without.nodes.length) groups.push(without);
  return groups;
}

const k_steps = [["c0", "under 25 %", 0.25], ["c1", "under 50 %", 0.5], ["c2", "under 75 %", 0.75], ["c3", "under 90 %", 0.9],
  ["c4", "under 100 %", 1], ["c5", "full", Infinity]];

function legend(items) {
  return element("ul", { class: "legend" }, items.map(([name, text]) =>
    element("li", null, element("span", { class: "k" + (name === "none" ? "n" : name.slice(1)), "aria-hidden": "true" }), text)));
}

let mapResource = 0;
let mapLabel = "topology.kubernetes.io/zone" in data.nodes.labels ? "topology.kubernetes.io/zone" : "";

function mapView() {
  const resource = data.nodes.resources[mapResource];
  if (!resource) return [element("h2", null, "Cluster map"),
    element("p", { class: "soft" }, nodes.length ? "No node offers a resource." : "The cluster has no nodes.")];
  const colour = (node) => {
    const part = share(resource, node.index);
    return part === null ? "none" : k_steps.find(([, , limit]) => part < limit)[0];
  };
  const describe = (node) => {
    const part = share(resource, node.index);
    const used = part === null ? `no ${resource.name}` : `${resource.name} ${Math.floor(part * 100)} %, ` +
      `${amount(Math.max(0, resource.allocatable[node.index] - resource.requested[node.index]), resource.unit)} free`;
    return [node.name, used, plural(node.pods.length, "pod") + (node.cordoned ? ", cordoned" : "")];
  };
  const pick = (text, options, chosen, take) => element("label", null, text, element("select", {
    onchange: (event) => { take(event.target.value); show(true); } },
    options.map(([value, name]) => element("option", { value, selected: String(value) === String(chosen) }, name))));
  return [element("h2", null, "Cluster map"),
    element("div", { class: "controls" },
      pick("Colour by requested", data.nodes.resources.map((each, i) => [i, each.name]), mapResource, (value) => { mapResource = Number(value); }),
      pick("Group by", [["", "nothing"], ...Object.keys(data.nodes.labels).map((key) => [key, key])], mapLabel, (value) => { mapLabel = value; }),
      element("span", { class: "soft" }, "A cell with a stroke is cordoned.")),
    legend([...k_steps, ["none", "has none"]]),
    nodeMap(groupBy(mapLabel), colour, describe, `Map of ${plural(nodes.length, "node")} by requested ${resource.name}`)];
}
