// SPDX-License-Identifier: Apache-2.0
// Which page is shown: the part of the address after "#".

const layouts = [], lasting = [];  // what is painted again when the size or the colours change: of one view, of all
function onLayout(paint) { layouts.push(paint); }
function onAnyLayout(paint) { lasting.push(paint); }
const repaint = () => { for (const paint of [...lasting, ...layouts]) paint(); };

const tabsNow = () => [...(data.before ? [["changed", "What changed", changedView]] : []), ["pending", `Pending (${pending.length.toLocaleString("en")})`, pendingView],
  ["map", "Cluster map", mapView], ["pods", "Pods", podsView], ...(times ? [["time", "Time", timeView]] : []), ["plugins", "Plugins", pluginsView]];

function viewOf(place) {
  const slash = place.indexOf("/");
  const kind = slash < 0 ? place : place.slice(0, slash);
  let name = "";
  try { name = slash < 0 ? "" : decodeURIComponent(place.slice(slash + 1)); } catch { name = ""; }
  if (kind === "pod" && podOf.has(name)) return [null, () => podView(podOf.get(name)), name];
  if (kind === "node" && nodeOf.has(name)) return [null, () => nodeView(nodeOf.get(name)), name];
  const tabs = tabsNow();
  const tab = tabs.find(([id]) => id === kind) ?? tabs[data.before || pending.length ? 0 : 1];
  return [tab[0], tab[2], tab[1]];
}

let wantsSearch = false;
function show(keepsPlace) {
  const [id, view, title] = viewOf(location.hash.slice(1));
  layouts.length = 0;
  document.getElementById("tabs").replaceChildren(...tabsNow().map(([tab, text]) =>
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

/** The lines above the pages: what all of them are about. */
function showHead() {
  const state = (name) => pods.filter((pod) => pod.state === name).length;
  document.getElementById("summary").textContent = [plural(nodes.length, "node"), plural(pods.length, "pod"),
    ...["placed", "running", "pending", "gated", "foreign", "deleting", "finished"].filter(state).map((name) => `${state(name).toLocaleString("en")} ${name}`)].join(" · ");
  const lines = [];
  if (data.live) lines.push(`${data.live.server}, ${times ? "as it was" : "looked at"} ${timeText(data.live.at * 1000)}`);
  for (const change of data.takesChanges ? [] : data.whatIf ?? []) lines.push([element("code", null, change.option), "  " + change.effect]);
  if (data.untilFull) lines.push(`${plural(data.untilFull.fitting, "pod")} like ${data.untilFull.pod} fit` +
    (data.untilFull.full ? `; then: ${data.untilFull.message}` : ""));
  document.getElementById("changes").replaceChildren(...lines.map((line) => element("div", null, line)));
}
/** Shows other data on the page that is shown. */
function showData(text) {
  takeData(text);
  showHead();
  show(true);
}
if (data.served) document.getElementById("theme").before(
  element("button", { type: "button", id: "again", onclick: () => location.reload() }, "Look again"));
showHead();
if (data.takesChanges) document.getElementById("asks").append(changeForm());
if (times) document.getElementById("asks").append(timeSlider());
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  repaint();
});
addEventListener("hashchange", show);
addEventListener("popstate", followAddress);
addEventListener("resize", repaint);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
addEventListener("keydown", (event) => {
  if (event.key === "/" && !(event.target instanceof HTMLInputElement && event.target.type !== "range")) {
    event.preventDefault();
    wantsSearch = true;
    // Shown at once: hashchange comes later than the next key of a fast typist.
    if (location.hash !== "#pods") history.pushState(null, "", "#pods");
    show(true);
  }
});
show();
repaint();
