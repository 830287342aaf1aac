// SPDX-License-Identifier: Apache-2.0
// Which page is shown: the part of the address after "#".

const layouts = [];
function onLayout(paint) { layouts.push(paint); }

const tabs = [["pending", `Pending (${pending.length.toLocaleString("en")})`, pendingView], ["map", "Cluster map", mapView],
  ["pods", "Pods", podsView], ["plugins", "Plugins", pluginsView]];

function viewOf(place) {
  const slash = place.indexOf("/");
  const kind = slash < 0 ? place : place.slice(0, slash);
  let name = "";
  try { name = slash < 0 ? "" : decodeURIComponent(place.slice(slash + 1)); } catch { name = ""; }
  if (kind === "pod" && podOf.has(name)) return [null, () => podView(podOf.get(name)), name];
  if (kind === "node" && nodeOf.has(name)) return [null, () => nodeView(nodeOf.get(name)), name];
  const tab = tabs.find(([id]) => id === kind) ?? tabs[pending.length ? 0 : 1];
  return [tab[0], tab[2], tab[1]];
}

let wantsSearch = false;
function show(keepsPlace) {
  const [id, view, title] = viewOf(location.hash.slice(1));
  layouts.length = 0;
  document.getElementById("tabs").replaceChildren(...tabs.map(([tab, text]) =>
    element("a", { href: "#" + tab, "aria-current": tab === id ? "page" : null }, text)));
  const main = document.getElementById("main");
  main.replaceChildren(...view().filter((part) => part != null));
  for (const paint of layouts) paint();
  document.title = `${title} – berth`;
  if (wantsSearch) document.getElementById("search")?.focus();
  else if (keepsPlace instanceof Event) main.focus({ preventScroll: true });  // the tab order goes on from the new page
  wantsSearch = false;
  if (keepsPlace !== true) window.scrollTo(0, 0);
}

const state = (name) => pods.filter((pod) => pod.state === name).length;
document.getElementById("summary").textContent = [plural(nodes.length, "node"), plural(pods.length, "pod"),
  ...["placed", "running", "pending", "gated", "foreign", "deleting", "finished"].filter(state).map((name) => `${state(name).toLocaleString("en")} ${name}`)].join(" · ");
if (data.live) document.getElementById("changes").append(element("div", null,
  `${data.live.server}, looked at ${new Date(data.live.at * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" })}`));
if (data.served) document.getElementById("theme").before(
  element("button", { type: "button", id: "again", onclick: () => location.reload() }, "Look again"));
if (data.whatIf?.length) document.getElementById("changes").append(
  ...data.whatIf.map((change) => element("div", null, element("code", null, change.option), "  " + change.effect)));
if (data.untilFull) document.getElementById("changes").append(element("div", null,
  `${plural(data.untilFull.fitting, "pod")} like ${data.untilFull.pod} fit` + (data.untilFull.full ? `; then: ${data.untilFull.message}` : "")));
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  for (const paint of layouts) paint();
});
addEventListener("hashchange", show);
addEventListener("resize", () => { for (const paint of layouts) paint(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const paint of layouts) paint(); });
addEventListener("keydown", (event) => {
  if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
    event.preventDefault();
    wantsSearch = true;
    // Shown at once: hashchange comes later than the next key of a fast typist.
    if (location.hash !== "#pods") history.pushState(null, "", "#pods");
    show(true);
  }
});
show();
