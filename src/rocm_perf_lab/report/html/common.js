"use strict";
// Shared by all pages. Text from programs is only ever inserted as text, never as markup.
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
function list(title, lines, heading = "h4") {
  if (!lines.length) return [];
  const items = element("ul");
  for (const line of lines) items.append(element("li", line));
  return [element(heading, title), items];
}
// rows: [length of the bar as a share, or null, text of each cell...]
function table(title, heads, rows, heading = "h4") {
  if (!rows.length) return [];
  const made = element("table"), head = element("tr"), thead = element("thead"), body = element("tbody");
  const isText = heads.map((_head, index) => !index || rows.every((row) => !/^[\d+\-.]/.test(row[index + 1])));
  heads.forEach((text, index) => head.append(element("th", text, { scope: "col", className: isText[index] ? "text" : "" })));
  for (const [share, ...cells] of rows) {
    const row = element("tr");
    cells.forEach((text, index) => {
      const cell = element("td", text, { className: index ? (isText[index] ? "text" : "") : "text heat" });
      if (!index && share !== null) cell.style.setProperty("--heat", `${100 * share}%`);
      row.append(cell);
    });
    body.append(row);
  }
  thead.append(head); made.append(thead, body);
  const wide = element("div", null, { className: "wide", tabIndex: 0 });
  wide.setAttribute("role", "group"); wide.setAttribute("aria-label", title); wide.append(made);
  return title ? [element(heading, title), wide] : [wide];
}
// A table that is sorted by clicking its headings. columns: {title, value, text, isText, make}; sorting compares value, and
// make(row, index) makes a cell's content if text is not enough. options: onRow(element, index); most: how many rows to show.
// Returns a function that takes a predicate, shows only the rows that satisfy it, and returns their number.
function sortable(target, columns, rows, column, down, options = {}) {
  const most = options.most || Infinity;
  let by = column, reverse = down, accepted = () => true;
  const show = () => {
    const compare = (a, b) => (reverse ? descending : ascending)(columns[by].value(rows[a]), columns[by].value(rows[b])) || a - b;
    const order = rows.map((_one, index) => index).filter((index) => accepted(rows[index])).sort(compare);
    const head = element("tr"), body = element("tbody"), thead = element("thead");
    columns.forEach((one, index) => {
      const cell = element("th", null, { scope: "col", className: one.isText ? "text" : "" }), button = element("button", one.title);
      button.addEventListener("click", () => {
        [by, reverse] = [index, index === by ? !reverse : !one.isText];
        show(); target.querySelectorAll("th button")[index].focus();
      });
      if (index === by) cell.setAttribute("aria-sort", reverse ? "descending" : "ascending");
      cell.append(button); head.append(cell);
    });
    for (const index of order.slice(0, most)) {
      const row = element("tr");
      for (const one of columns) {
        const cell = element("td", null, { className: one.isText ? "text" : "" });
        cell.append(one.make ? one.make(rows[index], index) : one.text(rows[index])); row.append(cell);
      }
      if (options.onRow) options.onRow(row, index);
      body.append(row);
    }
    thead.append(head); target.replaceChildren(thead, body);
    return order.length;
  };
  show();
  return (accept) => { accepted = accept; return show(); };
}
function tag(text, kind) { return element("span", text, { className: `tag ${kind}` }); }
const missing = (value) => value === null || value === undefined;
function ascending(a, b) { return missing(a) - missing(b) || (a < b ? -1 : a > b ? 1 : 0); }
function descending(a, b) { return missing(a) - missing(b) || (a < b ? 1 : a > b ? -1 : 0); }

// A unified diff, with added and removed lines marked.
function diff(text) {
  const made = element("pre", null, { className: "diff", tabIndex: 0 });
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const kind = /^(\+\+\+|---|@@)/.test(line) ? "place" : line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
    made.append(element("span", `${line}\n`, { className: kind }));
  }
  return made;
}

byId("title").textContent = data.title;
if (data.modelled && byId("modelled")) Object.assign(byId("modelled"), { textContent: data.modelled, hidden: false });
// A line never ends between a number and its %.
const withUnits = (text) => text.replace(/(\d) %/g, "$1\u00a0%");
if (data.answer) for (const [label, text] of data.answer) byId("answer").append(element("dt", label), element("dd", withUnits(text)));
byId("made").textContent = data.made;
if (data.notes && byId("notes")) {
  for (const note of data.notes) byId("notes").append(element("li", note));
  byId("notes").closest("section").hidden = !data.notes.length;
}
