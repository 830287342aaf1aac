// SPDX-License-Identifier: Apache-2.0
// The time of a recording: a slider over it, above it what waited and what was decided.

const times = data.times ?? null;  // of the recording as a whole, whatever moment is shown

function timeText(ms) {
  return new Date(ms).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
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
  const slice = times.slice < 1000 ? `${times.slice} ms` : span(Math.round(times.slice / 1000));
  const sentence = (ms) => {
    const i = Math.min(times.pending.length - 1, Math.max(0, Math.floor((ms - times.from) / times.slice)));
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
    position = momentOf(Number(slider.value));
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
  const legend = (name, text) => element("li", null, element("span", { class: name, "aria-hidden": "true" }), text);
  const peak = (list) => Math.max(0, ...list).toLocaleString("en");
  return element("section", { class: "time", "aria-label": "Time of the recording" },
    element("div", { class: "line" }, element("label", { for: "moment" }, "Moment"), output, said),
    element("div", { class: "curve" }, canvas), slider,
    element("div", { class: "line soft" }, element("span", null, timeText(times.from)),
      element("ul", { class: "legend" }, legend("k5", `pods without a node, at most ${peak(times.pending)}`),
        legend("k2", `decisions, at most ${peak(times.decisions)} in ${slice}`)),
      element("span", null, timeText(times.to))));
}
