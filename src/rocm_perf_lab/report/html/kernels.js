// ---- kernels ----

const COLUMNS = [
  { title: "kernel", value: (one) => one.name, isText: true, make: (one, index) => {
    const button = element("button", null, { className: "choose" });
    if (one.kind !== null) button.append(swatch(one.kind));
    button.append(one.name);
    button.addEventListener("click", (event) => { event.stopPropagation(); details(index); });
    return button;
  } },
  { title: "dispatches", value: (one) => one.dispatches, text: (one) => number(one.dispatches) },
  { title: "time", value: (one) => one.time_ns, text: (one) => duration(one.time_ns) },
  { title: "of path", value: (one) => one.share, text: (one) => percent(one.share) },
  { title: "bottleneck", value: (one) => one.bottleneck.name, text: (one) => one.bottleneck.name, isText: true },
  { title: "possible gain", value: (one) => one.headroom.priority, text: (one) => percent(one.headroom.priority) },
];
let chosenKernel = 0;
function details(index) {
  chosenKernel = index;
  const one = data.kernels[index], parts = [element("h3", one.full)];
  document.querySelectorAll("#kernels tbody tr").forEach((row) => {
    const isChosen = row.dataset.kernel === String(index);
    row.classList.toggle("chosen", isChosen);
    row.querySelector("button").setAttribute("aria-pressed", isChosen);
  });
  parts.push(element("p", `${one.bottleneck.name} (certainty ${one.bottleneck.certainty}): ${one.bottleneck.why}`));
  parts.push(...stackView(one.stack), ...list("Evidence", one.bottleneck.evidence), ...list("What explains it", one.bottleneck.factors),
    ...list("What to try", one.bottleneck.advice), ...list("Occupancy", one.occupancy), ...list("Triton", one.triton),
    ...list("Headroom", one.headroom.lines));
  parts.push(...table("Memory levels and pipes", ["level", "amount", "attained", "peak", "of peak"], one.levels));
  if (one.counters.length) {
    const folded = element("details");
    folded.append(element("summary", `Counters (${one.counters.length})`),
      ...table("In the base run", ["counter", "sum over all dispatches", "meaning"], one.counters));
    parts.push(folded);
  }
  parts.push(...list("Notes", one.notes));
  byId("details").replaceChildren(...parts);
  sourceView(one);
}
