// ---- what a kernel's time is spent on, and how long it would take without some of the causes ----

// stack: {duration, causes, without, parts: [{cause, spent, share, alone}]}; bit i of without's index stands for causes[i].
// label: the table's label. heading: the tag of the heading above it; null for none.
function stackView(stack, label = "Time by experiments", heading = "h4") {
  if (!stack) return [];
  const removed = new Set(), told = element("p"), bar = element("div", null, { className: "bar left" }), filled = element("i");
  told.setAttribute("role", "status"); bar.setAttribute("aria-hidden", "true"); bar.append(filled);
  const tell = () => {
    const set = stack.causes.reduce((bits, cause, index) => bits + (removed.has(cause) ? 2 ** index : 0), 0);
    const time = stack.without[set];
    filled.style.width = `${(100 * time) / stack.duration}%`;
    told.textContent = removed.size
      ? `Without ${[...removed].join(", ")}: ${duration(time)}, ${percent(1 - time / stack.duration)} less`
      : `${duration(stack.duration)}; tick causes to see the time without them`;
  };
  const body = element("tbody"), head = element("tr"), thead = element("thead"), made = element("table");
  for (const text of ["without", "of its time", "less without it"]) {
    head.append(element("th", text, { scope: "col", className: text === "without" ? "text" : "" }));
  }
  for (const part of stack.parts) {
    const row = element("tr"), cell = element("td", null, { className: "text heat" }), label = element("label");
    const box = element("input", null, { type: "checkbox" });
    box.addEventListener("change", () => { if (box.checked) removed.add(part.cause); else removed.delete(part.cause); tell(); });
    label.append(box, ` ${part.cause}: ${part.spent}`); cell.append(label); cell.style.setProperty("--heat", `${100 * part.share}%`);
    row.append(cell, element("td", percent(part.share)), element("td", percent(part.alone))); body.append(row);
  }
  tell();
  thead.append(head); made.append(thead, body);
  const wide = element("div", null, { className: "wide", tabIndex: 0 });
  wide.setAttribute("role", "group"); wide.setAttribute("aria-label", label); wide.append(made);
  return [...(heading ? [element(heading, label)] : []), told, bar, wide];
}
