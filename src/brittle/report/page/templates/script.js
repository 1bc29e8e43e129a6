// Sorting by a column, and opening everything for print: the report is complete without either.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    if (!head.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(each => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = up ? [value(a), value(b)] : [value(b), value(a)];
        return head.dataset.sort === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
      });
      body.append(...rows);
      table.classList.add("sorted");
    };
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(each => { each.open = true; }));
