byId("gain").textContent = data.gain;

// ---- accepted changes ----

const rows = data.chain.map((one) => [one.share, one.what, one.time, percent(one.share), one.ratio]);
byId("chain").append(...table("Time in the program's kernels", ["after", "time", "of the first", "kernel's time"], rows, "h3"));
for (const one of data.chain.slice(1)) {
  byId("chain").append(element("h3", one.what), ...(one.why ? [element("p", one.why)] : []),
    ...table("Counters that moved", ["counter", "before", "after", "change", "what it counts"], one.counters.map((row) => [null, ...row])));
}
if (data.chain.length < 2) byId("chain").append(element("p", data.dry_run ? "Nothing was judged: a dry run." : "None: the source is unchanged."));

// ---- proposals ----

const KINDS = { kept: "good", "accepted, not kept": "plain", undecided: "open", rejected: "bad", "not judged": "plain" };
const OUTCOMES = { passed: "good", rejected: "bad", skipped: "plain" };
function proposal(one) {
  const card = element("details", null, { className: "card", open: one.outcome === "kept" }), head = element("summary");
  head.append(tag(one.outcome, KINDS[one.outcome]), element("strong", one.description), ` in ${one.kernel}, line ${one.line} (${one.transformation})`);
  card.append(head);
  if (one.why) card.append(element("p", one.why));
  if (one.steps.length) {
    const made = element("table"), body = element("tbody"), thead = element("thead"), titles = element("tr");
    for (const text of ["step", "outcome", "reason and evidence"]) titles.append(element("th", text, { scope: "col", className: "text" }));
    for (const [step, outcome, reason, evidence] of one.steps) {
      const row = element("tr"), cells = [element("td", step, { className: "text" }), element("td", null, { className: "text" }), element("td", reason, { className: "text" })];
      cells[1].append(tag(outcome, OUTCOMES[outcome]));
      if (evidence.length) {
        const more = element("details"), items = element("ul");
        more.append(element("summary", `${evidence.length} figures`), items);
        for (const line of evidence) items.append(element("li", line));
        cells[2].append(more);
      }
      row.append(...cells); body.append(row);
    }
    thead.append(titles); made.append(thead, body);
    const wide = element("div", null, { className: "wide", tabIndex: 0 });
    wide.setAttribute("role", "group"); wide.setAttribute("aria-label", `Verdict on: ${one.description}`); wide.append(made);
    card.append(element("h3", "Verdict"), wide);
  }
  card.append(element("h3", "Change"), diff(one.diff));
  return card;
}
const ALL_OUTCOMES = "all", cards = data.proposals.map(proposal);
byId("proposals").append(...cards);
for (const one of [ALL_OUTCOMES, ...new Set(data.proposals.map((each) => each.outcome))]) byId("outcome").append(element("option", one));
function filter() {
  const wanted = byId("outcome").value;
  cards.forEach((card, index) => { card.hidden = wanted !== ALL_OUTCOMES && data.proposals[index].outcome !== wanted; });
  byId("shown").textContent = `${cards.filter((card) => !card.hidden).length} of ${cards.length} proposals`;
}
byId("outcome").addEventListener("change", filter);
filter();

// ---- answers, and what was skipped ----

byId("answers-section").hidden = !data.answers.length;
sortable(byId("answers"), [
  { title: "iteration", value: (one) => one.iteration, text: (one) => String(one.iteration) },
  { title: "candidate", value: (one) => one.candidate, text: (one) => String(one.candidate) },
  { title: "answer", value: (one) => one.answer, text: (one) => String(one.answer) },
  { title: "kernel", value: (one) => one.kernel, isText: true, text: (one) => one.kernel },
  { title: "outcome", value: (one) => one.outcome, isText: true, make: (one) => tag(one.outcome, one.outcome === "accepted" ? "good" : "bad") },
  { title: "why", value: (one) => one.reason, isText: true, text: (one) => one.reason },
], data.answers, 0, false);
byId("left").append(...list("Kernels", data.left, "h3"), ...list("Changes that could not be proposed safely", data.refusals, "h3"),
  ...list("Not judged", data.passed_over, "h3"), ...list("For a GPU to decide", data.undecided, "h3"));
byId("left-section").hidden = !byId("left").children.length;
