// ---- what the program's time is spent on ----

if (data.program_stack) {
  const found = data.program_stack, heads = ["cause", "of the program's time", "95 % interval", "less without it"];
  const view = found.sampled.length ? table("", heads, found.sampled) : stackView(found, "Program's time by experiments", null);
  byId("program-stack").append(...view);
  byId("program-stack-rest").textContent = found.rest;
} else byId("program-stack-section").hidden = true;
