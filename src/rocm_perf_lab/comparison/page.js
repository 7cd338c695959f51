// One section per comparison: the answer, limits, kernels with bars, and what changed in the chosen kernel.
const RESULTS = { more: ["slower", "bad"], less: ["faster", "good"], same: ["as before", "plain"], undecided: ["undecided", "open"] };

// A change on a scale from -most to +most; the line is its interval.
function bar(change, most) {
  const made = element("span", null, { className: "bar" }), at = (value) => 50 + 50 * Math.max(-1, Math.min(1, value / most));
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", change.text + (change.interval ? `, certainly ${change.interval}` : ""));
  const add = (className, from, to) => {
    const part = element("i", null, { className });
    part.style.left = `${Math.min(from, to)}%`; part.style.width = `${Math.max(Math.abs(to - from), 0.8)}%`; made.append(part);
  };
  if (change.change !== null) add(change.verdict === "more" || change.verdict === "less" ? change.verdict : "plain", 50, at(change.change));
  if (change.low !== null) add("span", at(change.low), at(change.high));
  add("zero", 50, 50);
  return made;
}
function limits(of) {
  if (!of.length) return [];
  const items = element("ul", null, { className: "limits" });
  for (const limit of of) {
    const item = element("li");
    item.append(tag(limit.exceeded ? "exceeded" : "kept", limit.exceeded ? "bad" : "good"), ` ${limit.limit}`);
    const lines = [...limit.by, ...limit.undecided.map((line) => `undecided: ${line}`)], inner = element("ul");
    for (const line of lines) inner.append(element("li", line));
    if (lines.length) item.append(inner);
    items.append(item);
  }
  return [element("h3", "Limits"), items];
}
function changes(title, first, rows) {
  return table(title, [first, "before", "after", "change"], rows.map((row) => [null, ...row]));
}
function same(names) {
  if (!names.length) return [];
  const made = element("details");
  made.append(element("summary", `${names.length} counters did not change`), element("p", names.join(", "), { className: "note" }));
  return [made];
}
function comparison(one, number) {
  const section = element("section"), answer = element("dl"), chosen = element("div", null, { className: "card" });
  const heading = element("h2", `${data.base} → ${one.new}`, { id: `comparison-${number}` });
  section.setAttribute("aria-labelledby", heading.id);
  for (const [label, text] of one.answer) answer.append(element("dt", label), element("dd", text));
  section.append(heading, answer, ...limits(one.limits));
  const most = Math.max(0.02, ...one.kernels.flatMap((kernel) => [kernel.time.change, kernel.time.low, kernel.time.high]).map((value) => Math.abs(value ?? 0)));
  const show = (index) => {
    const kernel = one.kernels[index];
    section.querySelectorAll("button.choose").forEach((button) => button.setAttribute("aria-pressed", button.dataset.kernel === String(index)));
    chosen.replaceChildren(element("h3", kernel.full), ...list("What changed besides time", kernel.other), ...changes("Numbers", "metric", kernel.changes),
      ...changes("Counters that changed", "counter", kernel.counters),
      ...same(kernel.same));
  };
  const columns = [
    { title: "kernel", value: (kernel) => kernel.name, isText: true, make: (kernel, index) => {
      const button = element("button", kernel.name, { className: "choose" });
      button.dataset.kernel = index; button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => show(index));
      return button;
    } },
    { title: "before", value: (kernel) => kernel.time.base, text: (kernel) => kernel.time.before },
    { title: "after", value: (kernel) => kernel.time.new, text: (kernel) => kernel.time.after },
    { title: "change", value: (kernel) => kernel.time.change, text: (kernel) => kernel.time.text },
    { title: `±${percent(most)}`, value: (kernel) => kernel.time.change, make: (kernel) => bar(kernel.time, most) },
    { title: "certain", value: (kernel) => kernel.time.low, text: (kernel) => kernel.time.interval },
    { title: "result", value: (kernel) => kernel.time.verdict, isText: true, make: (kernel) =>
      kernel.time.base === null ? "no times" : tag(...RESULTS[kernel.time.verdict]) },
    { title: "what else changed", value: (kernel) => kernel.other.length, isText: true, text: (kernel) => kernel.other.join("; ") },
  ].filter((column) => column.title !== "certain" || one.kernels.some((kernel) => kernel.time.interval));
  if (one.kernels.length) {
    const made = element("table"), wide = element("div", null, { className: "wide", tabIndex: 0 });
    wide.setAttribute("role", "group"); wide.setAttribute("aria-label", `Kernels of ${one.new}`);
    wide.append(made); section.append(element("h3", "Kernels"), wide, chosen);
    sortable(made, columns, one.kernels, 1, true);
    show(0);
  }
  section.append(...list("Only in the base", one.gone, "h3"), ...list("New", one.added, "h3"), ...list("Read these numbers with care", one.notes, "h3"));
  byId("comparisons").append(section);
}
data.comparisons.forEach(comparison);
