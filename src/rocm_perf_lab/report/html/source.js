// ---- source and instructions ----

// Two tables with corresponding rows: the row that is under the pointer or has the focus is marked in both.
const view = { kernel: null, lines: [], isa: [], rows: { line: [], isa: [] }, ofLine: new Map(), lineAt: new Map(), at: new Map() };
const AROUND = 2;
const hex = (address) => `0x${address.toString(16).padStart(4, "0")}`;
const key = (file, line) => `${file}:${line}`;
const whole = (value) => value.toLocaleString("en");

function sourceView(kernel) {
  const code = kernel.source, section = byId("source-section");
  section.hidden = !code;
  if (!code) return;
  byId("source-of").textContent = kernel.name;
  byId("source-view").hidden = code.why !== null;
  byId("waits").replaceChildren();
  byId("source-note").textContent = code.why !== null ? `Not shown: ${code.why}.` : code.note;
  if (code.why !== null) return;
  Object.assign(view, { kernel: code, ofLine: new Map(), lineAt: new Map(), at: new Map(), rows: { line: [], isa: [] } });
  code.isa.forEach((_text, index) => {
    view.at.set(code.address[index], index);
    const places = code.places[index];
    for (let part = 0; part < places.length; part += 2) {
      const one = key(places[part], places[part + 1]);
      if (!view.ofLine.has(one)) view.ofLine.set(one, []);
      view.ofLine.get(one).push(index);
    }
  });
  view.awaited = new Map();  // index of an access -> indices of the waits for it
  view.wait = new Map((code.waits || []).map((wait) => [view.at.get(wait[0]), wait]));
  for (const [wait, [, accesses]] of view.wait) for (const access of accesses) {
    const index = view.at.get(access[0]);
    if (!view.awaited.has(index)) view.awaited.set(index, []);
    view.awaited.get(index).push(wait);
  }
  fillLines(code); fillInstructions(code);
  byId("source-lines").closest(".pane").hidden = !view.rows.line.length;
  const hottest = hottestRow();
  if (hottest) { focusable(hottest, false); reveal(hottest); }
}
function headings(names) {
  const head = element("thead"), row = element("tr");
  for (const [name, isText] of names) row.append(element("th", name, { scope: "col", className: isText ? "text" : "" }));
  head.append(row);
  return head;
}
function heatCell(share, most) {
  const cell = element("td", share === null ? "" : percent(share), { className: "heat" });
  if (share) cell.style.setProperty("--heat", `${100 * share / most}%`);
  return cell;
}
function rowOf(kind, id) {
  const row = element("tr", null, { tabIndex: -1 });
  row.dataset.kind = kind; row.dataset.id = id; row.setAttribute("aria-selected", "false");
  view.rows[kind].push(row);
  return row;
}
function fillLines(code) {
  const costs = new Map((code.lines || []).map((line) => [key(line[0], line[1]), line])), traced = code.lines !== null;
  const most = Math.max(1e-9, ...(code.lines || []).map((line) => line[6])), body = element("tbody"), last = traced ? 6 : 2;
  const cycles = new Map();
  for (const line of code.lines || []) cycles.set(line[0], (cycles.get(line[0]) || 0) + line[3] + line[5]);
  const used = new Set([...view.ofLine.keys(), ...costs.keys()]);
  const files = [...new Set([...used].map((one) => Number(one.split(":")[0])))].sort((a, b) => (cycles.get(b) || 0) - (cycles.get(a) || 0));
  for (const file of files) {
    const one = data.files[file], title = element("tr", null, { className: "file" });
    title.append(element("td", one.why ? `${one.name} (text not shown: ${one.why})` : one.name, { colSpan: last }));
    body.append(title);
    const numbers = [...used].filter((each) => each.startsWith(`${file}:`)).map((each) => Number(each.split(":")[1]));
    const shown = new Set();
    let before = false;
    for (const [first, texts] of one.excerpts) {
      const within = numbers.filter((each) => each >= first && each < first + texts.length);
      if (!within.length) continue;
      const from = Math.min(...within) - AROUND, to = Math.max(...within) + AROUND;  // lines outside this range belong to other kernels
      if (before) { const gap = element("tr", null, { className: "gap" }); gap.append(element("td", "⋯", { colSpan: last })); body.append(gap); }
      before = true;
      texts.forEach((text, offset) => {
        if (first + offset < from || first + offset > to) return;
        shown.add(first + offset); body.append(lineRow(file, first + offset, text, costs, most, traced));
      });
    }
    for (const each of numbers.filter((line) => !shown.has(line)).sort((a, b) => a - b)) body.append(lineRow(file, each, "", costs, most, traced));
  }
  const numbers = traced ? [["of cycles"], ["stalled"], ["waited for"], ["executed"]] : [];
  byId("source-lines").replaceChildren(headings([...numbers, ["line"], ["source", true]]), body);
}
function lineRow(file, line, text, costs, most, traced) {
  const id = key(file, line), cost = costs.get(id), has = view.ofLine.has(id), row = rowOf("line", id);
  row.className = has || cost ? "has-code" : "";
  if (traced) {
    row.append(heatCell(cost ? cost[6] : null, most));
    for (const at of [4, 7, 2]) row.append(element("td", cost ? whole(cost[at]) : ""));
  }
  row.append(element("td", String(line), { className: "line" }), element("td", text, { className: "code" }));
  view.lineAt.set(id, row);
  return row;
}
function fillInstructions(code) {
  const traced = code.costs !== null, most = traced ? Math.max(1e-9, ...code.costs.map((cost) => cost[4])) : 1, body = element("tbody");
  code.isa.forEach((text, index) => {
    const row = rowOf("isa", index), cost = traced ? code.costs[index] : null, places = code.places[index];
    if (traced) {
      row.append(heatCell(cost[0] ? cost[4] : null, most));
      for (const at of [2, 0]) row.append(element("td", cost[0] ? whole(cost[at]) : ""));
    }
    row.append(element("td", places.length ? String(places[1]) : "", { className: "line" }));
    row.append(element("td", hex(code.address[index]), { className: "line" }));
    const cell = element("td", text, { className: "code" }), wait = view.wait.get(index);
    if (wait && wait[1].length) {
      const target = view.at.get(wait[1][0][0]);
      if (target !== undefined) cell.append(" ", jump(target, `← ${code.isa[target].split(" ")[0]} ${hex(wait[1][0][0])}`));
    }
    row.append(cell); body.append(row);
  });
  const numbers = traced ? [["of cycles"], ["stalled"], ["executed"]] : [];
  byId("isa").replaceChildren(headings([...numbers, ["line"], ["address"], ["instruction", true]]), body);
}
function jump(index, text) {
  const button = element("button", text, { className: "jump", tabIndex: -1 });
  button.addEventListener("click", (event) => { event.stopPropagation(); focusable(view.rows.isa[index], true); reveal(view.rows.isa[index]); });
  return button;
}
function hottestRow() {
  const costs = view.kernel.costs;
  if (!costs) return view.rows.isa[0];
  return view.rows.isa[costs.reduce((best, cost, index) => cost[4] > costs[best][4] ? index : best, 0)];
}
function partners(row) {  // the rows that correspond to a row of the other table
  if (row.dataset.kind === "line") return (view.ofLine.get(row.dataset.id) || []).map((index) => view.rows.isa[index]);
  const places = view.kernel.places[Number(row.dataset.id)], found = [];
  for (let part = 0; part < places.length; part += 2) found.push(view.lineAt.get(key(places[part], places[part + 1])));
  return found.filter(Boolean);
}
function mark(row, name) {
  document.querySelectorAll(`#source-view tr.${name}`).forEach((one) => one.classList.remove(name));
  if (row) for (const one of [row, ...partners(row)]) one.classList.add(name);
}
function reveal(row) {
  const box = row.closest(".scroll"), top = row.offsetTop - row.closest("table").tHead.offsetHeight;
  if (top < box.scrollTop || row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - box.clientHeight / 3);
}
function focusable(row, takeFocus) {  // makes a row the current one of its table
  const kind = row.dataset.kind;
  view.rows[kind].forEach((one) => { one.tabIndex = -1; one.setAttribute("aria-selected", "false"); });
  row.tabIndex = 0; row.setAttribute("aria-selected", "true");
  mark(row, "linked");
  const others = partners(row), other = view.rows[kind === "line" ? "isa" : "line"];
  other.forEach((one) => { one.tabIndex = -1; });
  if (other.length) (others[0] || other[0]).tabIndex = 0;
  if (takeFocus) row.focus({ preventScroll: true });
  if (others.length) reveal(others[0]);
  tell(row);
}
function tell(row) {
  const parts = [], code = view.kernel;
  const say = (text, accesses) => {
    const items = element("ul");
    for (const [index, more] of accesses) {
      const item = element("li");
      item.append(Object.assign(jump(index, `${code.isa[index]} at ${hex(code.address[index])}`), { tabIndex: 0 }), ` ${more}`);
      items.append(item);
    }
    parts.push(element("p", text), items);
  };
  if (row.dataset.kind === "isa") {
    const index = Number(row.dataset.id), wait = view.wait.get(index), places = code.places[index], of = [];
    for (let part = 0; part < places.length; part += 2) of.push(`${data.files[places[part]].name}:${places[part + 1]}`);
    parts.push(element("p", `${code.isa[index]} at ${hex(code.address[index])}${of.length ? `, ${of.join(", inlined into ")}` : ""}`, { className: "code" }));
    const known = (wait ? wait[1] : []).filter((access) => view.at.has(access[0]));
    if (known.length) say("It waited for:", known.map((access) => [view.at.get(access[0]),
      `${whole(access[1])} times, ${whole(access[3])} cycles in the ${whole(access[2])} waits that it ended`]));
    if (wait && wait[2]) parts.push(element("p", `For ${whole(wait[2])} cycles it is not known which access was waited for.`));
    if (view.awaited.has(index)) say("What waits for it:", view.awaited.get(index).map((other) => [other, ""]));
  } else {
    const rows = partners(row).map((one) => Number(one.dataset.id)).filter((index) => view.awaited.has(index));
    const [file, line] = row.dataset.id.split(":");
    parts.push(element("p", `${data.files[file].name}:${line}, ${whole(partners(row).length)} instructions`));
    if (rows.length) say("Its accesses for which waves waited:", rows.map((index) => [index, ""]));
  }
  byId("waits").replaceChildren(...parts);
}
for (const id of ["source-lines", "isa"]) {
  const target = byId(id), rowAt = (event) => event.target.closest("tr[data-kind]");
  target.addEventListener("mouseover", (event) => mark(rowAt(event), "hovered"));
  target.addEventListener("mouseleave", () => mark(null, "hovered"));
  target.addEventListener("click", (event) => { const row = rowAt(event); if (row) focusable(row, true); });
  target.addEventListener("keydown", (event) => {
    const row = rowAt(event);
    if (!row) return;
    const rows = view.rows[row.dataset.kind], at = rows.indexOf(row), page = 15;
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
    let next = event.key in moves ? rows[Math.min(rows.length - 1, Math.max(0, moves[event.key]))] : null;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") next = partners(row)[0] || null;
    if (event.key === "Enter") {  // to the first access that the instruction waits for
      const wait = view.wait.get(Number(row.dataset.id)), access = wait && wait[1][0];
      next = access ? view.rows.isa[view.at.get(access[0])] : partners(row)[0] || null;
    }
    if (next) { focusable(next, true); reveal(next); event.preventDefault(); }
  });
}
