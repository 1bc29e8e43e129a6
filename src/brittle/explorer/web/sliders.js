/** A slider for every number of θ and one for the severity, each with a box for the exact number. */

import { at, element, number } from "./dom.js";
import { change, state } from "./state.js";

let shown = null; // the space that there are sliders for
let rows = [];
let severity = null;

/** One slider; `moved(value)` is called while it is dragged. */
function slider(id, name, unit, { low, high, step, value, kind = "" }, moved) {
  const range = element("input", { type: "range", id, min: low, max: high, step });
  const exact = element("input", { type: "number", id: `${id}-exact`, step: "any", "aria-label": `${name}, exact` });
  const row = element(
    "div",
    { className: `slider ${kind}` },
    element("label", { for: id }, name, element("span", { className: "unit", textContent: unit ? ` (${unit})` : "" })),
    range,
    exact,
  );
  const set = (now) => {
    if (now < Number(range.min)) range.min = now;
    if (now > Number(range.max)) range.max = now;
    range.value = now;
    if (document.activeElement !== exact) exact.value = Number(now.toPrecision(5));
    range.setAttribute("aria-valuetext", `${number(now, 4)} ${unit}`);
  };
  range.addEventListener("input", () => moved(Number(range.value)));
  exact.addEventListener("input", () => exact.value !== "" && Number.isFinite(Number(exact.value)) && moved(Number(exact.value)));
  set(value);
  return { row, set };
}

/** Sliders for a nuisance on an image set. */
export function makeSliders(space) {
  shown = space;
  const { parameters, scale } = space;
  rows = parameters.map((each, place) =>
    slider(`theta-${place}`, each.name, each.unit, { ...each, step: each.step, value: each.identity }, (value) => {
      const theta = [...(state.theta ?? current)];
      theta[place] = value;
      change({ theta });
    }),
  );
  at("sliders").replaceChildren(...rows.map((each) => each.row), ...severityRow(space, scale));
  at("draws").hidden = space.draws !== null && space.draws < 2;
  at("reset").hidden = !parameters.length;
}

function severityRow(space, scale) {
  if (scale.values) {
    const last = scale.values.length - 1;
    severity = slider("severity", "Severity", `place among ${scale.values.map((each) => number(each)).join(", ")}`, { low: 0, high: last, step: 1, value: 0, kind: "severity" }, (place) =>
      change({ severity: scale.values[Math.max(0, Math.min(last, Math.round(place)))] / scale.per_severity }),
    );
    severity.of = (value) => Math.max(0, scale.values.findIndex((each) => Math.abs(each - value * scale.per_severity) < 1e-9));
  } else {
    const unit = scale.unit === "severity" ? "0: untouched, 1: θ itself" : scale.unit;
    const high = Math.max(scale.limit, scale.per_severity);
    severity = slider("severity", "Severity", unit, { low: 0, high, step: high / 200, value: scale.per_severity, kind: "severity" }, (value) =>
      change({ severity: Math.max(0, value) / scale.per_severity }),
    );
    severity.of = (value) => value * scale.per_severity;
  }
  return [severity.row];
}

let current = [];

/** Moves the sliders to where θ and the severity are. */
export function showTheta(theta) {
  if (!shown) return;
  current = theta ?? shown.parameters.map((each) => each.identity);
  if (theta) rows.forEach((row, place) => row.set(theta[place]));
  severity.set(severity.of(state.severity ?? 1));
  const draw = at("draw");
  if (document.activeElement !== draw) draw.value = state.theta ? "" : state.draw;
}

/** θ as the sliders have it. */
export const thetaShown = () => state.theta ?? current;
