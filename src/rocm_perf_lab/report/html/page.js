"use strict";
// Builds the page from the data in it. Text from the program is only ever set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, text, properties = {}) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  return Object.assign(made, properties);
}
function percent(value) { return value === null || value === undefined ? "?" : `${(100 * value).toFixed(1)} %`; }
function duration(ns) {
  if (ns === null || ns === undefined) return "?";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (Math.abs(ns) >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}
function number(value, unit = "") {
  if (value === null || value === undefined) return "?";
  const text = Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
  return unit ? `${text} ${unit}` : text;
}
function array(kind, text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new kind(bytes.buffer);
}

// ---- head ----

byId("title").textContent = data.title;
if (data.modelled) Object.assign(byId("modelled"), { textContent: data.modelled, hidden: false });
for (const [label, text] of data.answer) byId("answer").append(element("dt", label), element("dd", text));
byId("made").textContent = data.made;
for (const note of data.notes) byId("notes").append(element("li", note));

// ---- timeline ----

const ROW = 20, AXIS = 22;
function timeline(of) {
  const canvas = byId("timeline"), start = array(Float64Array, of.start), end = array(Float64Array, of.end);
  const name = array(Int32Array, of.name), context = canvas.getContext("2d");
  const first = of.tracks.map((track) => track.first), last = of.tracks.map((track) => track.first + track.count);
  const span = of.span || 1;
  let width = 0, left = 0, chosen = -1, matches = null;
  const color = of.names.map((_text, index) => d3.schemeTableau10[index % 10]);
  const onColor = color.map((one) => d3.lab(one).l < 62 ? "#fff" : "#000");
  const scale = d3.scaleLinear();
  let shown = scale;

  function measure() {
    const ratio = window.devicePixelRatio || 1, height = AXIS + ROW * of.tracks.length;
    width = canvas.clientWidth;
    left = Math.min(220, width / 3);
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    scale.domain([0, span]).range([left, width]);
    zoom.extent([[left, 0], [width, height]]).translateExtent([[left, 0], [width, height]]);
  }
  function firstVisible(track, time) {  // slices of a track do not overlap
    let low = first[track], high = last[track];
    while (low < high) { const middle = (low + high) >> 1; if (end[middle] < time) low = middle + 1; else high = middle; }
    return low;
  }
  function draw() {
    const begin = performance.now(), [from, to] = shown.domain();
    context.clearRect(0, 0, width, canvas.height);
    context.font = "12px system-ui, sans-serif"; context.textBaseline = "middle";
    context.fillStyle = style("--faint");
    for (const tick of shown.ticks(Math.max(2, width / 130))) {
      context.fillRect(shown(tick), 0, 1, AXIS / 3);
      context.fillText(duration(tick), shown(tick) + 3, AXIS / 2);
    }
    for (let track = 0; track < of.tracks.length; ++track) drawTrack(track, from, to);
    canvas.dataset.drawn = String(performance.now() - begin);
  }
  function drawTrack(track, from, to) {
    const top = AXIS + ROW * track;
    let covered = left;
    for (let slice = firstVisible(track, from); slice < last[track] && start[slice] <= to; ++slice) {
      const x = Math.max(left, shown(start[slice])), until = Math.min(width, shown(end[slice]));
      if (until <= covered && until - x < 0.5) continue;  // less than a pixel, which is painted already
      context.globalAlpha = matches && !matches[name[slice]] ? 0.15 : 1;
      context.fillStyle = color[name[slice]];
      context.fillRect(x, top + 2, Math.max(1, until - x), ROW - 4);
      if (slice === chosen) { context.strokeStyle = style("--text"); context.lineWidth = 2;
        context.strokeRect(x, top + 2, Math.max(1, until - x), ROW - 4); }
      if (until - x > 60) { context.fillStyle = onColor[name[slice]]; context.save(); context.beginPath();
        context.rect(x, top, until - x - 2, ROW); context.clip();
        context.fillText(of.names[name[slice]], x + 3, top + ROW / 2); context.restore(); }
      covered = Math.max(covered, x + 1, until);
    }
    context.globalAlpha = 1;
    context.fillStyle = style("--ground"); context.fillRect(0, top, left, ROW);
    context.fillStyle = style(of.tracks[track].path ? "--accent" : "--text");
    context.save(); context.beginPath(); context.rect(0, top, left - 6, ROW); context.clip();
    context.fillText(of.tracks[track].name, 4, top + ROW / 2); context.restore();
  }
  function choose(event) {
    const box = canvas.getBoundingClientRect(), track = Math.floor((event.clientY - box.top - AXIS) / ROW);
    if (track < 0 || track >= of.tracks.length) return;
    const time = shown.invert(event.clientX - box.left), near = firstVisible(track, time - 2 * (shown.invert(1) - shown.invert(0)));
    chosen = near < last[track] && start[near] <= time + 2 * (shown.invert(1) - shown.invert(0)) ? near : -1;
    byId("slice").textContent = chosen < 0 ? "" : `${of.names[name[chosen]]} on ${of.tracks[track].name}: ` +
      `${duration(end[chosen] - start[chosen])}, from ${duration(start[chosen])} to ${duration(end[chosen])}`;
    draw();
  }
  const zoom = d3.zoom().scaleExtent([1, 1e6]).on("zoom", (event) => { shown = event.transform.rescaleX(scale); draw(); });
  const target = d3.select(canvas);
  measure(); target.call(zoom).on("dblclick.zoom", null); shown = scale; draw();
  canvas.addEventListener("click", choose);
  canvas.addEventListener("keydown", (event) => {
    const step = width / 8, keys = {
      ArrowLeft: () => zoom.translateBy(target, step / d3.zoomTransform(canvas).k, 0),
      ArrowRight: () => zoom.translateBy(target, -step / d3.zoomTransform(canvas).k, 0),
      "+": () => zoom.scaleBy(target, 1.5), "=": () => zoom.scaleBy(target, 1.5), "-": () => zoom.scaleBy(target, 1 / 1.5),
      Home: () => zoom.transform(target, d3.zoomIdentity),
    };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  byId("zoom-in").addEventListener("click", () => zoom.scaleBy(target, 2));
  byId("zoom-out").addEventListener("click", () => zoom.scaleBy(target, 0.5));
  byId("zoom-all").addEventListener("click", () => zoom.transform(target, d3.zoomIdentity));
  byId("search").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    matches = wanted ? of.names.map((text) => text.toLowerCase().includes(wanted)) : null;
    let count = 0;
    if (matches) for (const one of of.tracks.keys()) if (!of.tracks[one].path && !of.tracks[one].again)
      for (let slice = first[one]; slice < last[one]; ++slice) count += matches[name[slice]];
    byId("found").textContent = matches ? `${count.toLocaleString("en")} found` : "";
    draw();
  });
  new ResizeObserver(() => { measure(); shown = d3.zoomTransform(canvas).rescaleX(scale); draw(); }).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  byId("timeline-note").textContent = of.note;
}
if (data.timeline) timeline(data.timeline);
else byId("timeline-section").replaceChildren(element("p", data.no_timeline));

// ---- roofline ----

function roofline(level) {
  const points = data.roofline.kernels.map((kernel) => {
    const bytes = kernel.bytes[level];
    return { ...kernel, x: kernel.flop && bytes ? kernel.flop / bytes : null };
  }).filter((kernel) => kernel.x && kernel.gflops);
  const width = 900, height = 420, margin = { left: 70, right: 20, top: 16, bottom: 44 };
  const roof = data.roofline.levels.find((one) => one.level === level), most = d3.max(data.roofline.pipes, (one) => one.gflops);
  const xs = points.map((one) => one.x), x = d3.scaleLog([Math.min(0.01, ...xs) / 2, Math.max(1000, ...xs) * 2],
    [margin.left, width - margin.right]);
  const y = d3.scaleLog([Math.min(1, ...points.map((one) => one.gflops)) / 2, 2 * (most || 1e5)],
    [height - margin.bottom, margin.top]);
  const svg = d3.create("svg").attr("viewBox", [0, 0, width, height]).attr("role", "group").attr("aria-label", `Roofline, ${level}`);
  svg.append("g").attr("transform", `translate(0,${height - margin.bottom})`).call(d3.axisBottom(x).ticks(8, "~g"));
  svg.append("g").attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).ticks(6, "~s"));
  svg.append("text").attr("x", width / 2).attr("y", height - 6).text("FLOP per byte");
  svg.append("text").attr("x", 4).attr("y", 12).text("GFLOP/s");
  const line = (gflops, gbps, label, kind) => {
    if (!gflops || !gbps) return;
    const ridge = Math.max(x.domain()[0], gflops / gbps), from = x.domain()[0];
    svg.append("path").attr("class", `roof ${kind}`)
      .attr("d", d3.line()([[x(from), y(Math.max(y.domain()[0], from * gbps))], [x(ridge), y(gflops)], [x(x.domain()[1]), y(gflops)]]));
    svg.append("text").attr("x", width - margin.right).attr("y", y(gflops) - 4).attr("text-anchor", "end").text(label);
  };
  for (const pipe of data.roofline.pipes) {
    line(pipe.gflops, roof && roof.gbps, `${pipe.name} ${number(pipe.gflops, "GFLOP/s")}`, "");
    line(pipe.measured, roof && roof.measured, `${pipe.name} ${number(pipe.measured, "GFLOP/s")} measured`, "measured");
  }
  const label = (one) => `${one.name}: ${number(one.x, "FLOP/byte")} at ${level}, ${number(one.gflops, "GFLOP/s")}`;
  const circles = svg.append("g").selectAll("circle").data(points).join("circle").attr("cx", (one) => x(one.x))
    .attr("cy", (one) => y(one.gflops)).attr("r", (one) => 4 + 16 * Math.sqrt(one.share || 0)).attr("tabindex", 0)
    .attr("role", "button").attr("aria-label", label);
  circles.append("title").text(label);
  circles.on("click", (_event, one) => details(one.kernel)).on("keydown", (event, one) => {
    if (event.key === "Enter" || event.key === " ") { details(one.kernel); event.preventDefault(); }
  });
  byId("roofline").replaceChildren(points.length ? svg.node() : element("p", data.roofline.none));
}
if (data.roofline.levels.length) {
  for (const one of data.roofline.levels) byId("level").append(element("option", one.level));
  byId("level").addEventListener("change", (event) => roofline(event.target.value));
  roofline(data.roofline.levels[0].level);
} else byId("roofline-section").replaceChildren(element("h2", "Roofline"), element("p", data.roofline.none));

// ---- kernels ----

const COLUMNS = [
  ["kernel", (one) => one.name, (one) => one.name, true], ["dispatches", (one) => one.dispatches, (one) => number(one.dispatches)],
  ["time", (one) => one.time_ns, (one) => duration(one.time_ns)], ["of path", (one) => one.share, (one) => percent(one.share)],
  ["bottleneck", (one) => one.bottleneck.name, (one) => one.bottleneck.name, true],
  ["possible gain", (one) => one.headroom.priority, (one) => percent(one.headroom.priority)],
];
function kernels(column, down) {
  const order = d3.sort(data.kernels.map((_one, index) => index),
    (a, b) => (down ? d3.descending : d3.ascending)(COLUMNS[column][1](data.kernels[a]) ?? -1, COLUMNS[column][1](data.kernels[b]) ?? -1));
  const head = element("tr");
  COLUMNS.forEach(([title, , , isText], index) => {
    const cell = element("th", null, { scope: "col", className: isText ? "text" : "" }), button = element("button", title);
    button.addEventListener("click", () => kernels(index, index === column ? !down : !isText));
    if (index === column) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    cell.append(button); head.append(cell);
  });
  const body = element("tbody");
  for (const index of order) {
    const row = element("tr", null, { className: "row", tabIndex: 0 });
    row.dataset.kernel = index;
    for (const [, , text, isText] of COLUMNS) row.append(element("td", text(data.kernels[index]), { className: isText ? "text" : "" }));
    row.addEventListener("click", () => details(index));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") details(index); });
    body.append(row);
  }
  const thead = element("thead"); thead.append(head);
  byId("kernels").replaceChildren(thead, body);
}
function list(title, lines) {
  if (!lines.length) return [];
  const items = element("ul");
  for (const line of lines) items.append(element("li", line));
  return [element("h4", title), items];
}
function table(title, heads, rows) {
  if (!rows.length) return [];
  const made = element("table"), head = element("tr"), thead = element("thead"), body = element("tbody");
  for (const text of heads) head.append(element("th", text, { scope: "col" }));
  for (const [share, ...cells] of rows) {
    const row = element("tr");
    cells.forEach((text, index) => {
      const cell = element("td", text, { className: index ? "" : "text heat" });
      if (!index && share !== null) { const bar = element("i"); bar.style.width = `${100 * share}%`; cell.append(bar); }
      row.append(cell);
    });
    body.append(row);
  }
  thead.append(head); made.append(thead, body);
  return [element("h4", title), made];
}
function details(index) {
  const one = data.kernels[index], parts = [element("h3", one.full)];
  document.querySelectorAll("tr.row").forEach((row) => row.classList.toggle("chosen", row.dataset.kernel === String(index)));
  parts.push(element("p", `${one.bottleneck.name} (certainty ${one.bottleneck.certainty}): ${one.bottleneck.why}`));
  parts.push(...list("Evidence", one.bottleneck.evidence), ...list("What explains it", one.bottleneck.factors),
    ...list("What to try", one.bottleneck.advice), ...list("Occupancy", one.occupancy), ...list("Headroom", one.headroom.lines));
  parts.push(...table("Lines", ["line", "of cycles", "waited for its accesses"], one.lines));
  parts.push(...table("Instructions", ["instruction", "line", "of cycles", "stall cycles"], one.instructions));
  parts.push(...table("Waits", ["wait", "for", "cycles"], one.waits));
  parts.push(...table("Memory levels and pipes", ["level", "amount", "attained", "peak", "of peak"], one.levels));
  parts.push(...list("Notes", one.notes));
  byId("details").replaceChildren(...parts);
}
kernels(3, true);
if (data.kernels.length) details(0);

// ---- what if ----

if (data.what_if.kernels.length) {
  for (const one of data.what_if.kernels) byId("what-if-kernel").append(element("option", one.name));
  const tell = () => {
    const one = data.what_if.kernels[byId("what-if-kernel").selectedIndex], factor = 10 ** (byId("what-if-factor").value / 50);
    const most = 1 / (1 - one.fraction + one.fraction / factor);
    byId("what-if").textContent = `${one.name} ${factor.toFixed(2)} times faster: the GPU's span would be at least ` +
      `${duration(data.what_if.span / most)} instead of ${duration(data.what_if.span)}: at most ${most.toFixed(2)} times shorter ` +
      "(if the critical path stays as it is)";
  };
  byId("what-if-kernel").addEventListener("change", tell);
  byId("what-if-factor").addEventListener("input", tell);
  tell();
  byId("what-if-table").replaceChildren(...(table("", ["Replayed with the whole graph", "by", "GPU's span", "gain", "then dominates"],
    data.what_if.replayed)[1]?.children || []));
} else byId("what-if-section").hidden = true;
document.body.dataset.ready = String(performance.now());
