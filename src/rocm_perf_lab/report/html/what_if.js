// ---- what if ----

if (data.what_if.kernels.length) {
  for (const one of data.what_if.kernels) byId("what-if-kernel").append(element("option", one.name));
  const tell = () => {
    const one = data.what_if.kernels[byId("what-if-kernel").selectedIndex], factor = 10 ** (byId("what-if-factor").value / 50);
    const most = 1 / (1 - one.fraction + one.fraction / factor);
    byId("what-if").textContent = `${one.name} ${factor.toFixed(2)} times faster: the GPU's span would be at least ` +
      `${duration(data.what_if.span / most)} instead of ${duration(data.what_if.span)}: at most ${most.toFixed(2)} times shorter ` +
      "(if the critical path stays the same)";
  };
  byId("what-if-kernel").addEventListener("change", tell);
  byId("what-if-factor").addEventListener("input", tell);
  tell();
  const made = table("", ["replayed with the whole graph", "by", "GPU's span", "gain", "then dominates"], data.what_if.replayed)[0];
  byId("what-if-table").replaceChildren(...(made ? made.firstChild.children : []));
} else byId("what-if-section").hidden = true;
