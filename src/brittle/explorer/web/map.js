/** The map of two parameters: weak points of the image, where θ is now, and how likely a wrong answer is around it. */

import { at, drawn, element, fill, number } from "./dom.js";
import { change, state } from "./state.js";

const SIDE = 320;
const LEFT = 46;
const BOTTOM = 34;
const TOP = 8;
const INNER = SIDE - LEFT - TOP;

let points = [];
let chosen = -1;
let space = null;
let limits = null;
let field = null; // the shading: {x, y, wrong}

export function makeMap(now) {
  space = now;
  const several = space.parameters.length > 1;
  at("map").hidden = !several;
  for (const id of ["map-x", "map-y"]) at(id).parentElement.hidden = !several;
  if (!several) return;
  const names = space.parameters.map((each, place) => [place, each.name]);
  fill(at("map-x"), names, Math.min(state.x, names.length - 1));
  fill(at("map-y"), names, state.y < names.length && state.y !== state.x ? state.y : state.x === 1 ? 0 : 1);
}

export function setPoints(found) {
  const right = (each) => Number(each.predicted === each.label);
  points = [...found.points].sort((one, other) => right(one) - right(other) || (other.log_prior ?? 0) - (one.log_prior ?? 0));
  chosen = -1;
  const wrong = points.filter((each) => each.predicted !== each.label).length;
  at("map-steps").querySelectorAll("button").forEach((each) => (each.disabled = !points.length));
  at("map-said").textContent = points.length
    ? `${points.length} weak points of this image${found.status ? `, not to be trusted: ${found.status}` : ""}. ` +
      `Filled: another label (${wrong}); hollow: doubt alone. + no change, ◯ this θ. Click one to load it, or anywhere to go there.`
    : space?.parameters.length > 1
      ? "No weak points of this image were sampled. Click anywhere to go there."
      : "No weak points of this image were sampled.";
  drawMap();
}

export function setField(found) {
  field = found;
  drawMap();
}

/** Loads the weak point before or after the one that is shown: wrong answers come first, each from the densest prior down. */
export function step(by) {
  if (!points.length) return;
  load(chosen < 0 ? (by > 0 ? 0 : points.length - 1) : (chosen + by + points.length) % points.length);
}

function load(place) {
  const { theta, draw } = points[place];
  change(theta ? { theta: [...theta], severity: null } : { theta: null, draw, severity: null });
  chosen = place;
  drawMap();
}

export function axes() {
  return { x: Number(at("map-x").value), y: Number(at("map-y").value) };
}

/** Moves the mark of θ; the map is drawn anew only where θ has left it. */
export function markTheta(theta = state.theta ?? lastTheta) {
  const mark = at("map").querySelector(".here");
  const { x, y } = axes();
  const inside = (value, [low, high]) => value >= low && value <= high;
  if (!mark || !theta || !limits || !inside(theta[x], limits.x) || !inside(theta[y], limits.y)) return drawMap(theta);
  lastTheta = theta;
  mark.setAttribute("cx", across(theta[x]));
  mark.setAttribute("cy", up(theta[y]));
}

export function drawMap(theta = state.theta ?? lastTheta) {
  lastTheta = theta;
  const box = at("map");
  if (!space || space.parameters.length < 2) {
    box.replaceChildren();
    return;
  }
  const { x, y } = axes();
  limits = { x: extent(x, theta), y: extent(y, theta) };
  const svg = drawn("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", "aria-label": spoken(x, y) });
  svg.append(drawn("rect", { class: "frame", x: LEFT, y: TOP, width: INNER, height: SIDE - TOP - BOTTOM }));
  svg.append(...ticks(x, y));
  points.forEach((each, place) => {
    if (!each.theta) return;
    const kind = each.predicted === each.label ? "dot doubt" : "dot";
    const dot = drawn("circle", { class: place === chosen ? `${kind} chosen` : kind, cx: across(each.theta[x]), cy: up(each.theta[y]), r: place === chosen ? 6 : 4, "data-place": place });
    svg.append(dot);
  });
  const still = [across(space.parameters[x].identity), up(space.parameters[y].identity)];
  svg.append(drawn("path", { class: "still", d: `M${still[0] - 5} ${still[1]}h10M${still[0]} ${still[1] - 5}v10` }));
  if (theta) svg.append(drawn("circle", { class: "here", cx: across(theta[x]), cy: up(theta[y]), r: 8 }));
  svg.addEventListener("click", (event) => clicked(event, svg, x, y));
  box.replaceChildren(...shading(), svg);
}

let lastTheta = null;

function clicked(event, svg, x, y) {
  const place = event.target.dataset?.place;
  if (place !== undefined) return load(Number(place));
  const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const theta = [...(lastTheta ?? space.parameters.map((each) => each.identity))];
  theta[x] = limits.x[0] + ((spot.x - LEFT) / INNER) * (limits.x[1] - limits.x[0]);
  theta[y] = limits.y[1] - ((spot.y - TOP) / (SIDE - TOP - BOTTOM)) * (limits.y[1] - limits.y[0]);
  chosen = -1;
  change({ theta, severity: null });
}

function extent(place, theta) {
  const { low, high } = space.parameters[place];
  const values = points.filter((each) => each.theta).map((each) => each.theta[place]);
  if (theta) values.push(theta[place]);
  return [Math.min(low, ...values), Math.max(high, ...values)];
}

const across = (value) => LEFT + ((value - limits.x[0]) / (limits.x[1] - limits.x[0])) * INNER;
const up = (value) => SIDE - BOTTOM - ((value - limits.y[0]) / (limits.y[1] - limits.y[0])) * (SIDE - TOP - BOTTOM);

function ticks(x, y) {
  const label = (text, attributes) => {
    const made = drawn("text", attributes);
    made.textContent = text;
    return made;
  };
  const name = (place) => `${space.parameters[place].name}${space.parameters[place].unit ? ` (${space.parameters[place].unit})` : ""}`;
  const bottom = SIDE - BOTTOM;
  return [
    label(number(limits.x[0], 2), { x: LEFT, y: bottom + 13 }),
    label(number(limits.x[1], 2), { x: LEFT + INNER, y: bottom + 13, "text-anchor": "end" }),
    label(number(limits.y[0], 2), { x: LEFT - 4, y: bottom, "text-anchor": "end" }),
    label(number(limits.y[1], 2), { x: LEFT - 4, y: TOP + 10, "text-anchor": "end" }),
    label(name(x), { x: LEFT + INNER / 2, y: SIDE - 6, "text-anchor": "middle" }),
    label(name(y), { x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${TOP + (bottom - TOP) / 2}) rotate(-90)` }),
  ];
}

/** What is shaded, from 0 to 1: p(wrong), or with the prior the posterior relative to its greatest value here. */
function shadedShares(kind) {
  if (kind === "wrong") return field.wrong;
  if (!field.log_prior) return null;
  const density = field.wrong.map((row, j) => row.map((share, i) => (share ?? 0) * Math.exp(field.log_prior[j][i] ?? -Infinity)));
  const most = Math.max(1e-300, ...density.flat());
  return density.map((row) => row.map((each) => each / most));
}

/** A canvas under the points: the redder, the likelier a wrong answer, with the other parameters as they are. */
function shading() {
  const shares = field && at("shade").value ? shadedShares(at("shade").value) : null;
  if (!shares) return [];
  const rows = shares.length;
  const columns = shares[0].length;
  const canvas = element("canvas", { width: columns, height: rows, className: "shading", "aria-hidden": "true" });
  const painter = canvas.getContext("2d");
  const red = getComputedStyle(document.documentElement).getPropertyValue("--wrong").split(",").map(Number);
  const pixels = painter.createImageData(columns, rows);
  shares.forEach((row, j) =>
    row.forEach((share, i) => pixels.data.set([...red, Math.round(200 * (share ?? 0))], 4 * ((rows - 1 - j) * columns + i))),
  );
  painter.putImageData(pixels, 0, 0);
  const half = [(field.x.at(-1) - field.x[0]) / (columns - 1) / 2, (field.y.at(-1) - field.y[0]) / (rows - 1) / 2];
  const [left, right] = [across(field.x[0] - half[0]), across(field.x.at(-1) + half[0])];
  const [top, bottom] = [up(field.y.at(-1) + half[1]), up(field.y[0] - half[1])];
  const share = (value) => `${(100 * value) / SIDE}%`;
  Object.assign(canvas.style, { left: share(left), top: share(top), width: share(right - left), height: share(bottom - top) });
  canvas.style.clipPath = `inset(${[TOP - top, right - LEFT - INNER, bottom - SIDE + BOTTOM, LEFT - left].map((each, side) => `${Math.max(0, (100 * each) / (side % 2 ? right - left : bottom - top))}%`).join(" ")})`;
  return [canvas];
}

function spoken(x, y) {
  const names = `${space.parameters[x].name} and ${space.parameters[y].name}`;
  return `Map of ${names} with ${points.length} weak points; the buttons below it go through them.`;
}
