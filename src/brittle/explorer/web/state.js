/** What is on the screen. The address keeps it, so that a link opens it again. */

export const state = {
  view: "explore",
  set: "",
  image: null,
  own: null, // a picture of the reader's, which no link can open again
  nuisance: "",
  theta: null, // numbers; null where `draw` says which θ
  draw: 0,
  severity: null, // null: θ as it is
  first: "",
  second: "",
  x: 0,
  y: 1,
};

const NUMBERS = ["image", "draw", "severity", "x", "y"];
const listeners = [];

/** Calls `listener(changed)` with the names of what has changed. */
export const onChange = (listener) => listeners.push(listener);

export function change(values) {
  const changed = Object.keys(values).filter((key) => JSON.stringify(values[key]) !== JSON.stringify(state[key]));
  if (!changed.length) return;
  Object.assign(state, values);
  keep();
  for (const listener of listeners) listener(new Set(changed));
}

let keeping;
/** Browsers allow few changes of the address per second. */
function keep() {
  clearTimeout(keeping);
  keeping = setTimeout(() => history.replaceState(null, "", address()), 250);
}

/** The address that opens the same again. */
export function address() {
  const kept = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (key === "own" || value === null || (value === "" && key !== "second")) continue;
    if (key === "draw" && state.theta !== null) continue;
    kept.set(key, Array.isArray(value) ? value.join(",") : value);
  }
  return `${location.pathname}${location.search}#${kept}`;
}

/** What the address says. */
export function fromAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  const found = {};
  for (const key of Object.keys(state)) {
    if (!said.has(key) || key === "own") continue;
    const text = said.get(key);
    if (key === "theta") found.theta = text.split(",").map(Number);
    else found[key] = NUMBERS.includes(key) ? Number(text) : text;
  }
  if (found.theta?.some(Number.isNaN)) delete found.theta;
  for (const key of NUMBERS) if (Number.isNaN(found[key])) delete found[key];
  if (found.theta === undefined && found.draw !== undefined) found.theta = null;
  return found;
}

/** The question whose answer is on the screen. */
export function query() {
  const { set, image, nuisance, theta, draw, severity, own } = state;
  const classifiers = [state.first, state.second].filter(Boolean);
  return { set, image: own ? null : image, own, nuisance, theta, draw: theta ? null : draw, severity, classifiers };
}
