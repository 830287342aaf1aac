// SPDX-License-Identifier: Apache-2.0
// The time of a recording: a slider over it, above it what waited and what was decided; a page with what took the time.

const times = data.times ?? null;  // of the recording as a whole, whatever moment is shown
let momentMs = times?.at ?? 0;     // where the slider is

function timeText(ms) {
  return new Date(ms).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
}

const sum = (list) => list.reduce((all, value) => all + value, 0);
const sliceAt = (ms) => Math.min(times.pending.length - 1, Math.max(0, Math.floor((ms - times.from) / times.slice)));
const sliceText = () => (times.slice < 1000 ? `${times.slice} ms` : span(Math.round(times.slice / 1000)));
/** A length of time, with three digits that say something. */
function took(ns) {
  const [value, unit] = ns >= 1e9 ? [ns / 1e9, "s"] : ns >= 1e6 ? [ns / 1e6, "ms"] : [ns / 1e3, "µs"];
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${unit}`;
}

/** Slices as bars of decisions and, before them, a line of pods that wait. */
function drawTimes(canvas, position) {
  const width = Math.max(200, canvas.parentElement.clientWidth), height = 56, scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue("--" + name).trim();
  const count = times.pending.length, all = Math.max(1, times.to - times.from);
  const x = (ms) => Math.min(1, Math.max(0, (ms - times.from) / all)) * width;
  const begin = (i) => times.from + i * times.slice;
  const most = (list) => Math.max(1, ...list);
  pen.scale(scale, scale);
  const bars = (list, limit, name) => {
    pen.fillStyle = colour(name);
    list.forEach((value, i) => {
      if (value <= 0) return;
      const part = Math.max(2, (value / limit) * (height - 8));
      const left = Math.min(width - 3, x(begin(i)));
      pen.fillRect(left, height - part, Math.max(3, x(begin(i + 1)) - left - 1), part);
    });
  };
  bars(times.decisions, most(times.decisions), "c2");
  pen.strokeStyle = colour("c5");
  pen.lineWidth = 2;
  pen.beginPath();
  let isDown = false;
  for (let i = 0; i < count; ++i) {
    const value = times.pending[i];
    if (value < 0) { isDown = false; continue; }
    const y = height - 2 - (value / most(times.pending)) * (height - 8);
    if (isDown) pen.lineTo(x(begin(i)), y); else pen.moveTo(x(begin(i)), y);
    pen.lineTo(x(begin(i + 1)), y);
    isDown = true;
  }
  pen.stroke();
  pen.fillStyle = colour("text");
  pen.fillRect(Math.min(width - 2, x(position)), 0, 2, height);
}

function timeSlider() {
  const steps = Math.max(1, Math.min(1000, times.to - times.from)), step = (times.to - times.from) / steps;
  const momentOf = (value) => Math.round(times.from + value * step);
  const valueOf = (ms) => Math.min(steps, Math.max(0, step ? Math.round((ms - times.from) / step) : 0));
  let position = times.at;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const output = element("span", { class: "now", id: "moment-text" });
  const said = element("p", { id: "moment-said", role: "status", class: "soft" });
  const slice = sliceText();
  const sentence = (ms) => {
    const i = sliceAt(ms);
    return `${timeText(ms)}, ${span(Math.round((ms - times.from) / 1000))} after it begins` +
      (times.pending[i] < 0 ? "" : `: ${plural(times.pending[i], "pod")} without a node`) +
      (times.decisions[i] ? `, ${plural(times.decisions[i], "decision")} in ${slice}` : "");
  };
  const slider = element("input", { type: "range", id: "moment", min: 0, max: steps, step: 1 });
  const paint = () => {
    slider.setAttribute("aria-valuetext", sentence(position));
    output.textContent = sentence(position);
    drawTimes(canvas, position);
  };
  slider.value = valueOf(position);
  slider.addEventListener("input", () => {
    position = momentMs = momentOf(Number(slider.value));
    said.className = "soft";
    said.textContent = `Looking at ${timeText(position)} …`;
    slider.setAttribute("aria-busy", "true");
    paint();
    ask("?at=" + encodeURIComponent(new Date(position).toISOString()), (problem) => {
      slider.removeAttribute("aria-busy");
      said.className = problem ? "problem" : "soft";
      said.textContent = problem ? `That moment cannot be shown: ${problem}` : "";
    });
  });
  onAnyLayout(paint);
  const peak = (list) => Math.max(0, ...list).toLocaleString("en");
  return element("section", { class: "time", "aria-label": "Time of the recording" },
    element("div", { class: "line" }, element("label", { for: "moment" }, "Moment"), output, said),
    element("div", { class: "curve" }, canvas), slider,
    element("div", { class: "line soft" }, element("span", null, timeText(times.from)),
      legend([["c5", `pods without a node, at most ${peak(times.pending)}`], ["c2", `decisions, at most ${peak(times.decisions)} in ${slice}`]]),
      element("span", null, timeText(times.to))));
}

/** A plugin over the time: bars of what it rejected, a line of what calls into it took. */
function drawPlugin(canvas, plugin) {
  const width = 180, height = 26, scale = window.devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d"), all = Math.max(1, times.to - times.from);
  const x = (i) => Math.min(width, (i * times.slice * width) / all), y = (part) => height - 1 - part * (height - 4);
  pen.scale(scale, scale);
  pen.fillStyle = style.getPropertyValue("--c5");
  const most = Math.max(1, ...plugin.rejections), longest = Math.max(1, ...plugin.tookNs);
  plugin.rejections.forEach((value, i) => {
    if (value) pen.fillRect(Math.min(width - 2, x(i)), y(value / most), Math.max(2, x(i + 1) - x(i)), height);
  });
  pen.strokeStyle = style.getPropertyValue("--c3");
  pen.lineWidth = 1.5;
  pen.beginPath();
  plugin.tookNs.forEach((value, i) => { pen.lineTo(x(i), y(value / longest)); pen.lineTo(x(i + 1), y(value / longest)); });
  pen.stroke();
}

function timeView() {
  const i = sliceAt(momentMs), decisions = sum(times.decisions);
  const mean = (ns, count) => (ns && count ? took(ns / count) : "–");
  const figures = [
    ["Decisions", decisions.toLocaleString("en"), times.decisions[i].toLocaleString("en")],
    ["of them without a node", sum(times.withoutNode).toLocaleString("en"), times.withoutNode[i].toLocaleString("en")],
    ["A decision takes, on average", mean(sum(times.tookNs), decisions), mean(times.tookNs[i], times.decisions[i])],
    ["The longest", mean(Math.max(...times.longestNs), 1), mean(times.longestNs[i], 1)],
    ["Pods without a node, at most", Math.max(0, ...times.pending).toLocaleString("en"),
      times.pending[i] < 0 ? "not known" : times.pending[i].toLocaleString("en")]];
  const here = `#In the ${sliceText()} of the moment`;
  const plugins = times.plugins.map((plugin) => ({ ...plugin, rejected: sum(plugin.rejections), ns: sum(plugin.tookNs) }))
    .sort((a, b) => b.ns - a.ns || b.rejected - a.rejected || (a.name < b.name ? -1 : 1));
  const row = (plugin) => {
    const canvas = element("canvas", { "aria-hidden": "true" });
    onLayout(() => drawPlugin(canvas, plugin));
    return [element("td", { class: "line" }, plugin.name), plugin.rejected.toLocaleString("en"),
      plugin.rejections[i].toLocaleString("en"), mean(plugin.ns, 1), mean(plugin.ns, decisions), element("td", null, canvas)];
  };
  return [element("h2", null, "Time"), element("div", { class: "narrow" },
    table(["Scheduling", "#In the recording", here], figures, "Decisions over the time")),
  element("h3", null, "Plugins"),
  legend([["c5", "decisions without a node that it rejected"], ["c3", "time in calls into it"]]),
  table(["Plugin", "#Rejections", here, "#Time in calls", "#Each decision", "Over the time"], plugins.map(row), "Plugins over the time")];
}
