byId("best").textContent = data.best;
byId("progress-heading").textContent = data.progress;
const milliseconds = (ms) => ms === null ? "" : `${Number(ms.toPrecision(4))} ms`;
const inWords = (one) => data.names.map((name) => `${name}=${one.values[name]}`).join(" ");

// ---- progress ----

function progress() {
  const good = data.evaluations.filter((one) => one.ms), width = 900, height = 360, margin = { left: 84, right: 20, top: 14, bottom: 44 };
  const count = data.evaluations.length, times = good.map((one) => one.ms), [low, high] = times.length ? d3.extent(times) : [1, 10];
  const x = d3.scaleLinear([0.5, Math.max(count, 1) + 0.5], [margin.left, width - margin.right]);
  const y = d3.scaleLog([low / 1.15, high * 1.15], [height - margin.bottom, margin.top]);
  const svg = d3.create("svg").attr("viewBox", [0, 0, width, height]).attr("role", "img")
    .attr("aria-label", `${data.progress}: ${count} configurations, ${data.best}`);
  const ticks = y.ticks(6), grid = svg.append("g").attr("class", "grid");
  for (const at of ticks) grid.append("line").attr("x1", margin.left).attr("x2", width - margin.right).attr("y1", y(at)).attr("y2", y(at));
  svg.append("g").attr("transform", `translate(0,${height - margin.bottom})`)
    .call(d3.axisBottom(x).ticks(Math.min(10, count)).tickFormat(d3.format("d")));
  svg.append("g").attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).tickValues(ticks).tickFormat((at) => `${Number(at.toPrecision(3))} ms`));
  svg.append("text").attr("x", (margin.left + width) / 2).attr("y", height - 6).attr("text-anchor", "middle").text("evaluation");
  data.evaluations.forEach((one, index) => {
    if (!one.ms && one.status === "ok") return;
    const mark = one.ms ? svg.append("circle").attr("class", "plain").attr("cx", x(index + 1)).attr("cy", y(one.ms)).attr("r", count > 500 ? 2 : 3.5) :
      svg.append("path").attr("class", "failed").attr("d", `M${x(index + 1) - 4} ${height - margin.bottom - 8}l8 8m0 -8l-8 8`);
    mark.append("title").text(`${inWords(one)}: ${one.ms ? milliseconds(one.ms) : one.reason}`);
  });
  const steps = data.so_far.flatMap((ms, index) => ms ? [[x(index + 1), y(ms)]] : []);
  if (steps.length) svg.append("path").attr("class", "best").attr("d", d3.line().curve(d3.curveStepAfter)(steps));
  byId("progress").replaceChildren(svg.node());
}
progress();

// ---- effects of the parameters ----

byId("importance-note").textContent = data.importance_note;
for (const effect of data.effects) {
  const rows = effect.values.map((one) => [one.median === null ? null : one.median / effect.most, one.value, String(one.count),
    milliseconds(one.best), milliseconds(one.median)]);
  byId("effects").append(...table(effect.title, ["value", "configurations that ran", "best", "median"], rows, "h3"));
}

// ---- all configurations ----

const MOST = 500;
const columns = [
  { title: "#", value: (one) => one.number, text: (one) => String(one.number) },
  ...data.names.map((name) => ({ title: name, value: (one) => one.values[name], text: (one) => String(one.values[name]) })),
  { title: "time", value: (one) => one.ms, text: (one) => milliseconds(one.ms) },
  { title: "of the best", value: (one) => one.ms, text: (one) => one.ms && data.best_ms ? `${(one.ms / data.best_ms).toFixed(2)}x` : "" },
  { title: "CV", value: (one) => one.cv, text: (one) => one.cv === null ? "" : percent(one.cv) },
  { title: "result", value: (one) => one.status, isText: true, make: (one) => {
    const made = element("span");
    made.append(tag(one.unstable ? "unstable" : one.status, one.status !== "ok" ? "bad" : one.unstable ? "open" : "good"), ` ${one.reason}`);
    return made;
  } },
];
const shown = sortable(byId("all"), columns, data.evaluations, data.names.length + 1, false, { most: MOST });
function search(text) {
  const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = shown((one) => parts.every((part) => ` ${inWords(one)} ${one.status} ${one.reason} `.toLowerCase().includes(part.includes("=") ? ` ${part} ` : part)));
  byId("found").textContent = found > MOST ? `the first ${MOST} of ${found.toLocaleString("en")}` : `${found.toLocaleString("en")} configurations`;
}
byId("search").addEventListener("input", (event) => search(event.target.value));
search("");
