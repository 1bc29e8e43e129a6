/** Weak points, and draws that fail, as pictures: filtered, sorted, and loaded by a click. */

import { at, element, fill, number, percent, problem } from "./dom.js";
import { times } from "./answers.js";
import { change, state } from "./state.js";

const PAGE = 24;
let source = null;
let run = null;
let offset = 0;
let asked = 0;

export function makeGallery(from) {
  source = from;
  for (const id of ["gallery-nuisance", "gallery-classifier"]) at(id).addEventListener("change", () => chooseCell());
  at("gallery-measure").addEventListener("change", () => reload(true));
  at("gallery-label").addEventListener("change", () => {
    at("gallery-flow").value = "";
    reload();
  });
  for (const id of ["gallery-flow", "gallery-sort", "gallery-descending", "gallery-wrong"]) at(id).addEventListener("change", () => reload());
  at("gallery-more").addEventListener("click", () => more());
  at("filters").addEventListener("submit", (event) => event.preventDefault());
}

/** Offers what the run has; called again where it has grown. */
export function showGallery(found) {
  run = found;
  const here = run.points.filter((each) => each.set === state.set);
  const distinct = (key) => [...new Set(here.map((each) => each[key]))];
  const title = (name) => run.spaces.find((each) => each.nuisance === name)?.title ?? name;
  fill(at("gallery-nuisance"), distinct("nuisance").map((name) => [name, title(name)]), state.nuisance);
  fill(at("gallery-classifier"), distinct("classifier").map((name) => [name, name]), state.first);
  chooseCell();
}

function chooseCell() {
  const measures = run.points.filter((each) => each.set === state.set && each.nuisance === at("gallery-nuisance").value && each.classifier === at("gallery-classifier").value);
  fill(at("gallery-measure"), measures.map((each) => [each.measure, each.images ? `${each.measure}: draws of θ` : `${each.measure}: draws that fail`]), at("gallery-measure").value);
  return reload(true);
}

function query() {
  const flow = at("gallery-flow").value.split(":");
  const label = at("gallery-label").value;
  return {
    set: state.set,
    nuisance: at("gallery-nuisance").value,
    classifier: at("gallery-classifier").value,
    measure: at("gallery-measure").value,
    label: flow.length > 1 ? Number(flow[0]) : label === "" ? null : Number(label),
    predicted: flow.length > 1 ? Number(flow[1]) : null,
    sort: at("gallery-sort").value,
    descending: at("gallery-descending").checked,
    wrong: at("gallery-wrong").checked,
    offset,
    limit: PAGE,
  };
}

async function reload(anew = false) {
  offset = 0;
  if (anew) for (const id of ["gallery-label", "gallery-flow"]) fill(at(id), [["", "any"]], "");
  const found = await ask();
  if (!found) return;
  const name = className();
  if (anew) {
    fill(at("gallery-label"), [["", "any"], ...found.labels.map(([label, count]) => [label, `${name(label)} (${count})`])], "");
    fill(at("gallery-flow"), [["", "any"], ...found.flows.map(([label, predicted, count]) => [`${label}:${predicted}`, `${name(label)} → ${name(predicted)} (${count})`])], "");
  }
  at("cards").replaceChildren(...found.items.map(card));
  tellCount(found);
}

async function more() {
  offset += PAGE;
  const found = await ask();
  if (!found) return;
  const first = at("cards").children.length;
  at("cards").append(...found.items.map(card));
  tellCount(found);
  at("cards").children[first]?.querySelector("button").focus();
}

async function ask() {
  const mine = ++asked;
  try {
    const found = await source.gallery(query());
    return mine === asked ? found : null;
  } catch (error) {
    problem(error);
    return null;
  }
}

function tellCount(found) {
  const shown = at("cards").children.length;
  at("gallery-said").textContent = found.total ? `${shown} of ${found.total} shown. Choose one to load it.` : "There is nothing of this kind.";
  at("gallery-more").hidden = shown >= found.total;
}

function className() {
  const classes = run.classifiers.find((each) => each.name === at("gallery-classifier").value)?.classes ?? [];
  return (index) => (index < 0 ? "no label" : (classes[index] ?? String(index)));
}

function card(point) {
  const name = className();
  const wrong = point.predicted !== point.label;
  const flow = `${name(point.label)} → ${name(point.predicted)}`;
  const words = [`${percent(point.p_predicted)} sure`, `label ${percent(point.p_label)}`];
  if (point.log_prior !== null) words.push(`prior ${times(point.log_prior)}`);
  const open = element(
    "button",
    { type: "button", className: point.uri.startsWith("data:image/png") ? "card small" : "card" },
    element("img", { src: point.uri, alt: "", loading: "lazy" }),
    element("span", { className: wrong ? "flow wrong" : "flow", textContent: wrong ? `✗ ${flow}` : `${flow}` }),
    words.join(", "),
  );
  open.addEventListener("click", () => {
    change({
      view: "explore", own: null, set: point.set, nuisance: point.nuisance, image: point.image, first: point.classifier,
      second: state.second === point.classifier ? "" : state.second,
      theta: point.theta, draw: point.draw ?? 0, severity: null,
    });
  });
  return element("li", {}, open);
}
