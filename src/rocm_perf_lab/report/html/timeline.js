// ---- timeline ----

const ROW = 22, AXIS = 24, MOST_LINES = 400;
// Okabe and Ito's colours, which people with any colour vision can tell apart; patterns distinguish kernels that share a
// colour.
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"], OTHER = ["#8a8f98", "#b9bec6"];
const PATTERNS = ["", "rising", "dots", "across", "falling"];
function patternOn(context, color, kind, size = 8) {
  if (!kind) return color;
  const tile = document.createElement("canvas"); tile.width = tile.height = size;
  const on = tile.getContext("2d"), dark = luminance(color) > 0.35 ? "rgba(0,0,0,.55)" : "rgba(255,255,255,.7)";
  on.fillStyle = color; on.fillRect(0, 0, size, size); on.strokeStyle = on.fillStyle = dark; on.lineWidth = 1.5; on.beginPath();
  if (kind === "dots") { on.arc(size / 2, size / 2, 1.6, 0, 7); on.fill(); }
  else if (kind === "across") { on.moveTo(0, size / 2); on.lineTo(size, size / 2); }
  else for (const shift of [-size, 0, size]) {
    on.moveTo(shift, kind === "rising" ? size : 0); on.lineTo(shift + size, kind === "rising" ? 0 : size);
  }
  if (kind !== "dots") on.stroke();
  return context.createPattern(tile, "repeat");
}
function luminance(color) {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function colorOf(kind) { return kind < 0 ? OTHER[-1 - kind] : COLORS[kind % COLORS.length]; }
function patternOf(kind) { return kind < 0 ? "" : PATTERNS[Math.floor(kind / COLORS.length) % PATTERNS.length]; }
function swatch(kind) {
  const made = element("canvas", null, { width: 28, height: 28, className: "swatch" }), context = made.getContext("2d");
  context.scale(2, 2); context.fillStyle = patternOn(context, colorOf(kind), patternOf(kind)); context.fillRect(0, 0, 14, 14);
  made.setAttribute("aria-hidden", "true");
  return made;
}

function timeline(of) {
  const canvas = byId("timeline"), context = canvas.getContext("2d");
  const nodeStart = array(Float64Array, of.start), nodeEnd = array(Float64Array, of.end), nodeName = array(Int32Array, of.name);
  const node = array(Int32Array, of.node), cut = array(Float64Array, of.cut), flows = array(Int32Array, of.flows);
  const first = of.tracks.map((track) => track.first), last = of.tracks.map((track) => track.first + track.count);
  const span = of.span || 1, path = of.tracks.findIndex((track) => track.path);
  const start = new Float64Array(node.length), end = new Float64Array(node.length), name = new Int32Array(node.length);
  const home = new Int32Array(nodeStart.length).fill(-1), rowOf = new Int32Array(nodeStart.length);  // where each node is drawn
  for (const [row, track] of of.tracks.entries()) for (let slice = first[row]; slice < last[row]; ++slice) {
    const one = node[slice];
    start[slice] = track.path ? cut[slice - first[row]] : nodeStart[one]; end[slice] = nodeEnd[one]; name[slice] = nodeName[one];
    if (!track.path && !track.again) { home[one] = slice; rowOf[one] = row; }
  }
  const onPath = new Uint8Array(nodeStart.length);
  if (path >= 0) for (let slice = first[path]; slice < last[path]; ++slice) onPath[node[slice]] = 1;
  let width = 0, left = 0, chosen = -1, matches = null;
  const color = of.names.map((_text, index) => colorOf(of.kinds[index]));
  const onColor = color.map((one) => luminance(one) > 0.3 ? "#000" : "#fff");
  const fill = of.names.map((_text, index) => patternOn(context, color[index], patternOf(of.kinds[index])));
  const scale = d3.scaleLinear();
  let shown = scale, theme = {};

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
    theme = Object.fromEntries(["text", "faint", "ground", "accent", "line", "band"].map((one) => [one, style(`--${one}`)]));
    context.clearRect(0, 0, width, canvas.height);
    context.font = "12px system-ui, sans-serif"; context.textBaseline = "middle";
    for (let track = 1; track < of.tracks.length; track += 2) {
      context.fillStyle = theme.band; context.fillRect(0, AXIS + ROW * track, width, ROW);
    }
    context.fillStyle = theme.faint;
    for (const tick of shown.ticks(Math.max(2, width / 130))) {
      context.fillStyle = theme.line; context.fillRect(shown(tick), 0, 1, AXIS + ROW * of.tracks.length);
      context.fillStyle = theme.faint; context.fillText(duration(tick), shown(tick) + 4, AXIS / 2);
    }
    for (let track = 0; track < of.tracks.length; ++track) drawTrack(track, from, to);
    context.save(); context.beginPath(); context.rect(left, AXIS, width - left, ROW * of.tracks.length); context.clip();
    canvas.dataset.flows = String(drawFlows(from, to));
    canvas.dataset.links = String(drawPath(from, to));
    context.restore();
    for (let track = 0; track < of.tracks.length; ++track) drawName(track);
    canvas.dataset.drawn = String(performance.now() - begin);
  }
  function drawTrack(track, from, to) {
    const top = AXIS + ROW * track;
    let covered = left;
    for (let slice = firstVisible(track, from); slice < last[track] && start[slice] <= to; ++slice) {
      const x = Math.max(left, shown(start[slice])), until = Math.min(width, shown(end[slice])), wide = Math.max(1, until - x);
      if (until <= covered && until - x < 0.5) continue;  // less than a pixel, which is already painted
      context.globalAlpha = matches && !matches[name[slice]] ? 0.15 : 1;
      context.fillStyle = wide > 3 ? fill[name[slice]] : color[name[slice]];
      context.fillRect(x, top + 3, wide, ROW - 6);
      if (!of.tracks[track].path && onPath[node[slice]]) { context.fillStyle = theme.text; context.fillRect(x, top + ROW - 3, wide, 2); }
      if (slice === chosen) { context.strokeStyle = theme.text; context.lineWidth = 2; context.strokeRect(x, top + 3, wide, ROW - 6); }
      if (wide > 60) label(slice, x, top, wide);
      covered = Math.max(covered, x + 1, until);
    }
    context.globalAlpha = 1;
  }
  function label(slice, x, top, wide) {
    context.save(); context.beginPath(); context.rect(x, top, wide - 3, ROW); context.clip();
    if (patternOf(of.kinds[name[slice]])) {  // behind a label, a plain background without the pattern
      context.fillStyle = color[name[slice]];
      context.fillRect(x + 1, top + 4, Math.min(wide, context.measureText(of.names[name[slice]]).width + 8), ROW - 8);
    }
    context.fillStyle = onColor[name[slice]]; context.fillText(of.names[name[slice]], x + 4, top + ROW / 2); context.restore();
  }
  function drawName(track) {
    const top = AXIS + ROW * track;
    context.fillStyle = theme.ground; context.fillRect(0, top, left, ROW);
    if (track % 2) { context.fillStyle = theme.band; context.fillRect(0, top, left, ROW); }
    context.fillStyle = of.tracks[track].path ? theme.accent : theme.text;
    context.save(); context.beginPath(); context.rect(0, top, left - 6, ROW); context.clip();
    context.fillText(of.tracks[track].name, 6, top + ROW / 2); context.restore();
  }
  function arrow(source, target, withHead) {  // from the end of one node to the start of another
    const x = shown(nodeEnd[source]), y = AXIS + ROW * rowOf[source] + ROW / 2;
    const toX = shown(nodeStart[target]), down = rowOf[target] > rowOf[source], same = rowOf[target] === rowOf[source];
    const toY = same ? y : AXIS + ROW * rowOf[target] + (down ? 3 : ROW - 3), bend = Math.max(8, Math.abs(toX - x) / 2);
    context.beginPath(); context.moveTo(x, y);
    context.bezierCurveTo(x + bend, y, toX - bend, same ? toY : toY + (down ? -10 : 10), toX, toY); context.stroke();
    if (!withHead) return;
    const [dx, dy] = same ? [-6, 4] : [4, down ? -6 : 6];
    context.beginPath(); context.moveTo(toX, toY);
    if (same) { context.lineTo(toX + dx, toY - dy); context.lineTo(toX + dx, toY + dy); }
    else { context.lineTo(toX - dx, toY + dy); context.lineTo(toX + dx, toY + dy); }
    context.closePath(); context.fill();
  }
  function drawPath(from, to) {  // arrows between consecutive nodes of the path on different tracks, at most one per pixel
    if (path < 0) return 0;
    const begin = Math.max(first[path] + 1, firstVisible(path, from)), isDense = firstVisible(path, to) - begin > MOST_LINES;
    context.strokeStyle = context.fillStyle = theme.text;
    context.lineWidth = isDense ? 0.5 : 1.6; context.globalAlpha = isDense ? 0.4 : 1;
    let count = 0, before = -Infinity;
    for (let slice = begin; slice < last[path]; ++slice) {
      const source = node[slice - 1], target = node[slice];
      if (nodeEnd[source] > to) break;
      if (nodeStart[target] < from) continue;
      if (home[source] < 0 || home[target] < 0 || (rowOf[source] === rowOf[target] && shown(nodeStart[target]) - shown(nodeEnd[source]) < 12)) continue;
      const x = shown(nodeStart[target]);
      if (x - before < 3) continue;
      before = x; arrow(source, target, !isDense); ++count;
    }
    context.globalAlpha = 1;
    return count;
  }
  function drawFlows(from, to) {  // dependencies, if they are few enough to be legible
    const visible = [];
    for (let at = 0; at < flows.length; at += 2) {
      const source = flows[at], target = flows[at + 1];
      if (nodeStart[target] < from || nodeEnd[source] > to || home[source] < 0 || home[target] < 0) continue;
      if (onPath[source] && onPath[target]) continue;
      visible.push(at);
      if (visible.length > MOST_LINES) return 0;
    }
    context.strokeStyle = theme.faint; context.lineWidth = 1; context.globalAlpha = 0.7;
    for (const at of visible) arrow(flows[at], flows[at + 1], false);
    context.globalAlpha = 1;
    return visible.length;
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
  const search = (text) => {
    const wanted = text.toLowerCase();
    matches = wanted ? of.names.map((one) => one.toLowerCase().includes(wanted)) : null;
    let count = 0;
    if (matches) for (const one of of.tracks.keys()) if (!of.tracks[one].path && !of.tracks[one].again)
      for (let slice = first[one]; slice < last[one]; ++slice) count += matches[name[slice]];
    byId("found").textContent = matches ? `${count.toLocaleString("en")} found` : "";
    draw();
  };
  byId("search").addEventListener("input", (event) => search(event.target.value));
  for (const index of of.legend) {
    const item = element("li"), button = element("button", null, { title: `Search ${of.names[index]}` });
    button.append(swatch(of.kinds[index]), of.names[index]);
    button.addEventListener("click", () => {
      const text = byId("search").value === of.names[index] ? "" : of.names[index];
      byId("search").value = text; search(text);
    });
    item.append(button); byId("legend").append(item);
  }
  new ResizeObserver(() => { measure(); shown = d3.zoomTransform(canvas).rescaleX(scale); draw(); }).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  byId("timeline-note").textContent = of.note;
}
if (data.timeline) timeline(data.timeline);
else byId("timeline-section").replaceChildren(element("h2", "Timeline", { id: "timeline-heading" }), element("p", data.no_timeline));
