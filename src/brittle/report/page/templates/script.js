// What makes the page handier; it is complete without.
const make = (tag, properties = {}, ...inside) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inside);
  return made;
};
const remember = (key, value) => { try { return value === undefined ? localStorage.getItem(key) : localStorage.setItem(key, value); } catch { return null; } };

// Sorting: a button in every head that can be sorted by.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    if (!head.dataset.sort) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
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

// Above each table and figure: a filter where there are many rows, and the data as CSV.
const FILTERED_FROM = 10;
const nameOf = part => {
  const heading = part.closest("section")?.querySelector("h2, h3, h4")?.textContent ?? document.title;
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "data";
};
for (const part of document.querySelectorAll(".data")) {
  const tools = make("div", { className: "tools" });
  const rows = [...(part.querySelector("tbody")?.rows ?? [])];
  if (rows.length >= FILTERED_FROM) {
    const shown = make("span", { role: "status" });
    const field = make("input", { type: "search", placeholder: "Filter rows", ariaLabel: "Filter the rows of this table" });
    field.oninput = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
      shown.textContent = words.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length} rows` : "";
    };
    tools.append(field, shown);
  }
  const data = part.querySelector("script.csv");
  if (data) {
    const save = make("button", { type: "button", ariaLabel: "Download the data as CSV" }, "CSV");
    save.onclick = () => {
      const address = URL.createObjectURL(new Blob(["\ufeff", JSON.parse(data.textContent)], { type: "text/csv" }));
      make("a", { href: address, download: `${nameOf(part)}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    };
    tools.append(save);
  }
  const wide = part.querySelector(".wide, .drawing");
  const hint = make("span", { className: "scrolls" }, "scrolls sideways ⟷");
  if (wide) new ResizeObserver(() => { hint.hidden = wide.scrollWidth <= wide.clientWidth + 1; }).observe(wide);
  tools.append(hint);
  part.prepend(tools);
}

// Pictures: enlarged by a click or Enter; within a strip, arrow keys lead from one to the next.
const large = make("img"), words = make("p", { id: "enlarged-about" });
const frame = make("dialog", {}, large, words, make("button", { type: "button", onclick: () => frame.close() }, "Close"));
frame.setAttribute("aria-labelledby", words.id);
frame.onclick = event => { if (event.target === frame) frame.close(); };
document.body.append(frame);
document.addEventListener("click", event => {
  const picture = event.target.closest?.(".enlarge")?.querySelector("img");
  if (!picture) return;
  large.src = picture.src;
  large.alt = picture.alt;
  large.className = picture.closest(".crisp") ? "crisp-large" : "";
  words.textContent = [picture.alt, ...[...picture.closest(".card").querySelectorAll(".answers li")].map(each => each.title)].join(" · ");
  frame.showModal();
});
for (const strip of document.querySelectorAll(".strip")) {
  const buttons = [...strip.querySelectorAll(".enlarge")];
  buttons.forEach((button, place) => { button.tabIndex = place ? -1 : 0; });
  strip.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], at = buttons.indexOf(document.activeElement);
    if (!step || at < 0 || !buttons[at + step]) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    buttons[at + step].tabIndex = 0;
    buttons[at + step].focus();
  });
}

// Light and dark: as the system has it, until the reader chooses.
const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.style.colorScheme || (system.matches ? "dark" : "light")) === "dark";
const look = make("button", { type: "button", className: "look" });
const wear = chosen => { root.style.colorScheme = chosen ?? ""; look.textContent = isDark() ? "Light colours" : "Dark colours"; };
look.onclick = () => { const chosen = isDark() ? "light" : "dark"; remember("brittle-colours", chosen); wear(chosen); };
wear(remember("brittle-colours"));
system.addEventListener("change", () => wear(root.style.colorScheme));
const contents = document.querySelector(".contents details");
contents.append(look);
if (matchMedia("(max-width: 860px)").matches) {
  contents.open = false;
  contents.addEventListener("click", event => { if (event.target.closest("a")) contents.open = false; });
}

// The contents mark where the reader is.
const links = new Map([...contents.querySelectorAll("a")].map(link => [document.getElementById(link.hash.slice(1)), link]));
const mark = () => {
  const above = [...links].filter(([part]) => part && part.getBoundingClientRect().top < innerHeight / 3);
  const current = above.at(-1)?.[1] ?? contents.querySelector("a");
  for (const link of links.values()) link === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
};
addEventListener("scroll", mark, { passive: true });
mark();

// A link into something folded away opens it.
const reveal = () => {
  for (let part = document.getElementById(decodeURIComponent(location.hash.slice(1))); part; part = part.parentElement) if (part.matches("details")) part.open = true;
};
addEventListener("hashchange", reveal);
reveal();
