/** The pictures, and what classifiers say of them. */

import { at, element, number, percent, tell } from "./dom.js";

const IN_ORDER = 12; // classes: up to here each keeps its place, beyond the likeliest come first
const SHOWN = 8; // of more
const SMALL = 0.005; // shares that a phone leaves out

/** The untouched picture and the changed ones. */
export function showPictures(original, evaluation, words) {
  const figures = [figure("original", original, words.original)];
  for (const { classifier, uri } of evaluation.pictures) {
    figures.push(figure(`changed-${classifier}`, uri, classifier ? `${words.changed} as ${classifier} sees it` : words.changed));
  }
  const there = [...at("pictures").children];
  if (there.map((each) => each.dataset.key).join() === figures.map((each) => each.dataset.key).join()) {
    there.forEach((each, place) => {
      const next = figures[place].querySelector("img");
      const now = each.querySelector("img");
      if (now.src !== next.src) now.src = next.src;
      now.alt = next.alt;
      each.querySelector("figcaption").textContent = next.alt;
    });
  } else at("pictures").replaceChildren(...figures);
}

function figure(key, uri, text) {
  const image = element("img", { src: uri, alt: text, draggable: false });
  const made = element("figure", { className: uri.startsWith("data:image/png") ? "small" : "" }, image, element("figcaption", { textContent: text }));
  made.dataset.key = key;
  return made;
}

/** θ in words, and how likely the prior holds it. */
export function showTold(space, evaluation) {
  const parts = [];
  if (evaluation.readings) {
    parts.push(space.readings.map((each, place) => `${each.name} ${number(evaluation.readings[place])}${unit(each.unit)}`).join(" · "));
  }
  if (evaluation.log_prior !== null) {
    parts.push(`prior density here: ${times(evaluation.log_prior)} that of no change`);
  } else if (evaluation.theta && space.parameters.length && space.draws === null) parts.push("the prior has no density to compare here");
  at("told").textContent = parts.join(" — ");
}

/** A unit as it stands behind a number. */
const unit = (text) => (text === "factor" ? "\u00a0×" : text.startsWith("degrees") ? text.replace("degrees", "°") : text && ` ${text}`);

/** A ratio of densities from its logarithm: 0.08 ×, or 1/8,600 where it is small. */
export function times(logarithm) {
  const ratio = Math.exp(logarithm);
  if (ratio >= 0.01) return `${number(ratio, 2)}\u00a0×`;
  return ratio > 1e-6 ? `1/${Number((1 / ratio).toPrecision(2)).toLocaleString("en")}` : "under 1/1,000,000";
}

/** Bars for each classifier. */
export function showAnswers(run, evaluation, names) {
  const tables = names.map((name, place) => table(run, name, evaluation.answers[name], place));
  const there = [...at("answers").children];
  if (there.length !== tables.length || !there.every((each, place) => renewed(each, tables[place].made))) {
    at("answers").replaceChildren(...tables.map((each) => each.made));
  }
  tell(tables.map((each) => each.said).join(" "));
}

function table(run, name, answer, place) {
  const classifier = run.classifiers.find((each) => each.name === name);
  const className = (index) => classifier.classes[index] ?? String(index);
  const [predicted, probability] = answer.top[0];
  const right = answer.label < 0 ? null : predicted === answer.label;
  const verdict = right === null ? "" : right ? "✓ right" : `✗ wrong: it is ${className(answer.label)}`;
  const rows = shownRows(answer, classifier.classes.length).map(([index, share]) =>
    element(
      "tr",
      { className: `${index === predicted ? "said" : ""} ${share < SMALL && index !== answer.label ? "small-share" : ""}` },
      element("th", { scope: "row", title: className(index), textContent: `${className(index)}${index === answer.label ? " ✓" : ""}` }),
      element("td", {}, bar(share)),
      element("td", { className: "number", textContent: percent(share) }),
    ),
  );
  const caption = element("caption", {}, `${name}: ${className(predicted)} `, element("span", { className: "mark", textContent: verdict }));
  const made = element(
    "div",
    { className: `answer ${place ? "second" : "first"} ${right === null ? "" : right ? "right" : "wrong"}` },
    element("table", {}, caption, element("tbody", {}, ...rows)),
  );
  made.dataset.classifier = name;
  made.dataset.predicted = predicted;
  made.dataset.probability = probability;
  return { made, said: `${name} says ${className(predicted)}, ${percent(probability)}. ${verdict.slice(2)}` };
}

/** Brings a table that is on the screen to the values of another one, where they have the same rows. */
function renewed(old, made) {
  const [before, after] = [old, made].map((each) => [...each.querySelectorAll("tr")]);
  const name = (row) => row.firstChild.textContent;
  if (old.dataset.classifier !== made.dataset.classifier || before.length !== after.length) return false;
  if (!before.every((row, place) => name(row) === name(after[place]))) return false;
  old.className = made.className;
  Object.assign(old.dataset, made.dataset);
  old.querySelector("caption").replaceWith(made.querySelector("caption"));
  before.forEach((row, place) => {
    row.className = after[place].className;
    row.querySelector(".bar span").style.width = after[place].querySelector(".bar span").style.width;
    row.lastChild.textContent = after[place].lastChild.textContent;
  });
  return true;
}

function shownRows(answer, classes) {
  if (classes <= IN_ORDER) return [...answer.top].sort((one, other) => one[0] - other[0]);
  const likeliest = answer.top.slice(0, SHOWN);
  const right = answer.top.find(([index]) => index === answer.label);
  return right && !likeliest.includes(right) ? [...likeliest, right] : likeliest;
}

function bar(share) {
  const filled = element("span");
  filled.style.width = `${100 * share}%`;
  return element("div", { className: "bar", "aria-hidden": "true" }, filled);
}
