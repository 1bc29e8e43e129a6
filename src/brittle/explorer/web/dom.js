/** Elements in few words. Text is always text: no name of a class, file or run is ever read as HTML. */

export const at = (id) => document.getElementById(id);

/** An element with properties and children; properties with a dash are attributes. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for" || key === "scope") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Fills a select with [value, text] pairs and chooses one of them. */
export function fill(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => element("option", { value: String(value), textContent: text })));
  select.value = String(chosen ?? "");
  if (select.selectedIndex < 0 && pairs.length) select.selectedIndex = 0;
}

/** Tells a screen reader, once things have calmed down. */
let telling;
export function tell(text, after = 600) {
  clearTimeout(telling);
  telling = setTimeout(() => (at("said").textContent = text), after);
}

export function problem(error) {
  const shown = at("problem");
  shown.hidden = !error;
  shown.textContent = error ? error.message : "";
}

const minus = (text) => text.replace("-", "−");
export const number = (value, digits = 3) => (value === null || value === undefined ? "–" : minus(Number(value.toPrecision(digits)).toString()));
export const percent = (share) => (share === null || share === undefined ? "–" : share > 0.9995 && share < 1 ? "> 99.9 %" : `${(100 * share).toFixed(1)} %`);

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
