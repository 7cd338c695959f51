sortable(byId("kernels"), COLUMNS, data.kernels, 3, true, { onRow: (row, index) => {
  row.className = index === chosenKernel ? "row chosen" : "row"; row.dataset.kernel = index;
  row.querySelector("button").setAttribute("aria-pressed", index === chosenKernel);
  row.addEventListener("click", () => details(index));
} });
if (data.kernels.length) details(0);
