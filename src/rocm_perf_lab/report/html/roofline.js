// ---- roofline ----

const ALL = "all precisions";
function roofline(level, precision) {
  const points = data.roofline.kernels.map((kernel) => {
    const bytes = kernel.bytes[level], part = precision === ALL ? [kernel.flop, kernel.gflops] : kernel.parts[precision] || [null, null];
    return { ...kernel, x: part[0] && bytes ? part[0] / bytes : null, rate: part[1] };
  }).filter((kernel) => kernel.x && kernel.rate);
  const pipes = data.roofline.pipes.filter((one) => precision === ALL || one.name === precision);
  const width = 900, height = 440, margin = { left: 76, right: 24, top: 28, bottom: 48 };
  const roof = data.roofline.levels.find((one) => one.level === level), most = d3.max(pipes, (one) => one.gflops);
  const xs = points.map((one) => one.x), ridges = roof ? pipes.map((one) => one.gflops / roof.gbps) : [];
  const x = d3.scaleLog([Math.min(0.1, ...xs) / 2, Math.max(100, ...xs, ...ridges) * 3], [margin.left, width - margin.right]);
  const y = d3.scaleLog([Math.min(1, ...points.map((one) => one.rate)) / 3, 3 * (most || 1e5)], [height - margin.bottom, margin.top]);
  const svg = d3.create("svg").attr("viewBox", [0, 0, width, height]).attr("role", "group")
    .attr("aria-label", `Roofline, ${level}, ${precision}`);
  const powers = (scale) => d3.range(Math.ceil(Math.log10(scale.domain()[0])), Math.floor(Math.log10(scale.domain()[1])) + 1)
    .map((power) => 10 ** power);
  const grid = svg.append("g").attr("class", "grid");
  for (const at of powers(x)) grid.append("line").attr("x1", x(at)).attr("x2", x(at)).attr("y1", margin.top).attr("y2", height - margin.bottom);
  for (const at of powers(y)) grid.append("line").attr("y1", y(at)).attr("y2", y(at)).attr("x1", margin.left).attr("x2", width - margin.right);
  svg.append("g").attr("transform", `translate(0,${height - margin.bottom})`).call(d3.axisBottom(x).tickValues(powers(x)).tickFormat(d3.format("~g")));
  svg.append("g").attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).tickValues(powers(y)).tickFormat((at) => at.toLocaleString("en")));
  svg.append("text").attr("x", (margin.left + width - margin.right) / 2).attr("y", height - 8).attr("text-anchor", "middle").text(`FLOP per byte of ${level}`);
  svg.append("text").attr("x", 8).attr("y", 16).text("GFLOP/s");
  const taken = [];  // vertical positions of labels
  const line = (gflops, gbps, label, kind) => {
    if (!gflops || !gbps) return;
    const ridge = Math.max(x.domain()[0], gflops / gbps), from = Math.max(x.domain()[0], y.domain()[0] / gbps);
    svg.append("path").attr("class", `roof ${kind}`)
      .attr("d", d3.line()([[x(from), y(Math.max(y.domain()[0], from * gbps))], [x(ridge), y(gflops)], [x(x.domain()[1]), y(gflops)]]));
    let at = y(gflops) - 5;
    while (taken.some((other) => Math.abs(other - at) < 13)) at += 14;
    taken.push(at);
    svg.append("text").attr("x", width - margin.right).attr("y", at).attr("text-anchor", "end").text(label);
  };
  for (const pipe of pipes) {
    line(pipe.gflops, roof && roof.gbps, `${pipe.name} ${number(pipe.gflops, "GFLOP/s")}`, "");
    line(pipe.measured, roof && roof.measured, `${pipe.name} ${number(pipe.measured, "GFLOP/s")} measured`, "measured");
  }
  if (roof && pipes.length) {
    const at = x.domain()[0] * 2.5, slope = Math.atan2(y(1) - y(10), x(10) - x(1)) * 180 / Math.PI;
    if (at * roof.gbps > y.domain()[0]) svg.append("text").attr("transform", `translate(${x(at)},${y(at * roof.gbps) - 7}) rotate(${-slope})`)
      .text(`${level} ${number(roof.gbps, "GB/s")}`);
  }
  const label = (one) => `${one.name}: ${number(one.x, "FLOP/byte")} at ${level}, ${number(one.rate, "GFLOP/s")}, ` +
    `${percent(one.share)} of the critical path`;
  const radius = (one) => 5 + 17 * Math.sqrt(one.share || 0);
  const dots = svg.append("g").selectAll("circle").data(d3.sort(points, (one) => -(one.share || 0))).join("circle")
    .attr("cx", (one) => x(one.x)).attr("cy", (one) => y(one.rate)).attr("r", radius).attr("tabindex", 0)
    .attr("role", "button").attr("aria-label", label).style("fill", (one) => one.kind === null ? null : colorOf(one.kind));
  dots.append("title").text(label);
  dots.on("click", (_event, one) => details(one.kernel)).on("keydown", (event, one) => {
    if (event.key === "Enter" || event.key === " ") { details(one.kernel); event.preventDefault(); }
  });
  const named = [];
  for (const one of d3.sort(points, (each) => -(each.share || 0))) {  // the names that do not overlap others
    const right = x(one.x) < width * 0.7, place = { x: x(one.x) + (right ? 1 : -1) * (radius(one) + 4), y: y(one.rate) + 4 };
    const wide = Math.min(30, one.name.length) * 6.5, from = right ? place.x : place.x - wide;
    if (named.some((other) => Math.abs(other.y - place.y) < 14 && from < other.to && other.from < from + wide)) continue;
    named.push({ y: place.y, from, to: from + wide });
    svg.append("text").attr("class", "dot-name").attr("x", place.x).attr("y", place.y).attr("text-anchor", right ? "start" : "end")
      .attr("aria-hidden", "true").text(one.name.length > 30 ? `${one.name.slice(0, 14)}…${one.name.slice(-15)}` : one.name);
  }
  byId("roofline").replaceChildren(points.length ? svg.node() : element("p", precision === ALL ? data.roofline.none :
    `No kernel has operations of ${precision} and bytes of ${level}.`));
}
if (data.roofline.levels.length) {
  for (const one of data.roofline.levels) byId("level").append(element("option", one.level));
  for (const one of [ALL, ...data.roofline.pipes.map((pipe) => pipe.name)]) byId("precision").append(element("option", one));
  const again = () => roofline(byId("level").value, byId("precision").value);
  byId("level").addEventListener("change", again);
  byId("precision").addEventListener("change", again);
  again();
} else byId("roofline-section").replaceChildren(element("h2", "Roofline", { id: "roofline-heading" }), element("p", data.roofline.none));
