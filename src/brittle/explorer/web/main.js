/** The page: choices, sliders and what follows from them. */

import { makeAgain } from "./again.js";
import { showAnswers, showPictures, showTold } from "./answers.js";
import { at, fill, problem } from "./dom.js";
import { makeGallery, showGallery } from "./gallery.js";
import { latestWins } from "./live.js";
import { axes, drawMap, makeMap, markTheta, setField, setPoints, step } from "./map.js";
import { makeOwn, pictures as ownPictures } from "./own.js";
import { makeSliders, showTheta } from "./sliders.js";
import { openSource } from "./source.js";
import { change, fromAddress, onChange, query, state } from "./state.js";

const VIEWS = ["explore", "gallery", "report"];
const SETTLED = 250; // milliseconds without a change, after which the map is shaded anew
const LOOK_AGAIN = 4000; // at a run that is still going
const CONTEXT = ["set", "image", "nuisance", "own", "first"];
const ABOUT_PICTURE = [...CONTEXT, "second", "theta", "draw", "severity"];

let source, run, space;
const originals = new Map();
let galleryOf = null;

const setOf = () => run.sets.find((each) => each.name === state.set);
const spaceOf = () => run.spaces.find((each) => each.set === state.set && each.nuisance === state.nuisance);

async function begin() {
  theme();
  source = await openSource();
  run = await source.run();
  Object.assign(state, start(), possible(fromAddress()));
  makeGallery(source);
  makeOwn(source);
  makeAgain(source);
  wire();
  onChange(changed);
  describe();
  changed(new Set(Object.keys(state)));
  if (source.version) setInterval(lookAgain, LOOK_AGAIN);
}

/** Where the page begins: a weak point's image if there is one. */
function start() {
  const points = run.points.find((each) => each.images?.length);
  const first = run.spaces.find((each) => each.live) ?? run.spaces[0];
  const set = points?.set ?? first?.set ?? run.sets[0]?.name ?? "";
  const live = run.classifiers.filter((each) => each.live);
  return {
    set,
    nuisance: points?.nuisance ?? first?.nuisance ?? "",
    image: points?.images[0] ?? run.sets.find((each) => each.name === set)?.images[0]?.[0] ?? null,
    first: (live[0] ?? run.classifiers[0])?.name ?? "",
    second: live[1]?.name ?? "",
  };
}

/** What an address says, as far as the run has it. */
function possible(said) {
  const names = { set: run.sets, first: run.classifiers, second: run.classifiers };
  for (const [key, known] of Object.entries(names)) {
    const alone = key === "second" && said.second === "";
    if (!alone && !known.some((each) => each.name === said[key])) delete said[key];
  }
  if (!run.spaces.some((each) => each.nuisance === said.nuisance)) delete said.nuisance;
  if (!VIEWS.includes(said.view)) delete said.view;
  return said;
}

function describe() {
  at("title").textContent = run.title;
  document.title = `${run.title} · Brittle explorer`;
  at("going").hidden = !run.going && !run.notes.length;
  at("going").textContent = [run.going, ...run.notes].filter(Boolean).join(" ");
  fill(at("set"), run.sets.map((each) => [each.name, each.name]), state.set);
  at("choice-set").hidden = run.sets.length < 2;
}

/** Everything that follows from a change. */
function changed(names) {
  const any = (...keys) => keys.some((key) => names.has(key));
  if (any("view")) showView();
  if (any("set") || (any("nuisance") && !spaceOf())) chooseNuisance();
  if (any("set", "nuisance")) newSpace();
  if (any("set", "image", "own")) chooseImage();
  if (any("first", "second")) chooseClassifiers();
  if (any("set", "nuisance", "image", "first", "own")) newPoints();
  if (any("x", "y")) drawMap();
  if (any(...ABOUT_PICTURE)) {
    ask(query(), CONTEXT.map((key) => state[key]).join("\n"));
    showTheta(state.theta);
    markTheta();
  }
  if (any("x", "y", ...ABOUT_PICTURE)) shadeSoon();
}

function chooseNuisance() {
  const here = run.spaces.filter((each) => each.set === state.set);
  fill(at("nuisance"), here.map((each) => [each.nuisance, each.title]), state.nuisance);
  state.nuisance = at("nuisance").value;
}

function newSpace() {
  space = spaceOf();
  at("nuisance").value = state.nuisance;
  if (!space) return;
  if (state.theta && state.theta.length !== space.parameters.length) Object.assign(state, { theta: null, draw: state.draw ?? 0 });
  at("prior").textContent = space.live ? `Prior: ${space.prior}.` : space.why;
  at("nuisance").title = space.spec;
  makeSliders(space);
  makeMap(space);
}

function chooseImage() {
  const set = setOf();
  if (!set) return;
  if (!set.images.some(([id]) => id === state.image)) state.image = set.images[0]?.[0] ?? null;
  const label = at("label").value;
  const labels = [...new Set(set.images.map((each) => each[2]))].sort((one, other) => one - other);
  const name = (each) => (each < 0 ? "without a label" : (set.classes[each] ?? String(each)));
  fill(at("label"), [["", "all"], ...labels.map((each) => [each, name(each)])], label);
  const own = set.images.find(([id]) => id === state.image)?.[2];
  if (at("label").value !== "" && Number(at("label").value) !== own) at("label").value = "";
  fillImages();
  at("own-back").hidden = !state.own;
}

function fillImages() {
  const set = setOf();
  const wanted = at("label").value;
  const name = (label) => (label < 0 ? "" : ` · ${set.classes[label] ?? label}`);
  const shown = set.images.filter((each) => wanted === "" || each[2] === Number(wanted));
  fill(at("image"), shown.map(([id, text, label]) => [id, `${text}${name(label)}`]), state.image);
}

function chooseClassifiers() {
  const text = (each) => [each.name, each.live ? each.name : `${each.name} (not live)`];
  fill(at("first"), run.classifiers.map(text), state.first);
  fill(at("second"), [["", "none"], ...run.classifiers.filter((each) => each.name !== state.first).map(text)], state.second);
  if (state.second === state.first) state.second = "";
}

function stepImage(by) {
  const options = [...at("image").options].map((each) => Number(each.value));
  if (!options.length) return;
  const place = (options.indexOf(state.image) + by + options.length) % options.length;
  change({ own: null, image: options[place] });
}

function wire() {
  const select = (id, values) => at(id).addEventListener("change", () => change(values(at(id).value)));
  select("set", (set) => ({ set, own: null }));
  select("nuisance", (nuisance) => ({ nuisance, theta: null, draw: 0, severity: null }));
  select("first", (first) => ({ first, second: state.second === first ? "" : state.second }));
  select("second", (second) => ({ second }));
  select("image", (image) => ({ own: null, image: Number(image) }));
  select("map-x", (x) => ({ x: Number(x) }));
  select("map-y", (y) => ({ y: Number(y) }));
  at("label").addEventListener("change", () => {
    fillImages();
    change({ own: null, image: Number(at("image").value) });
  });
  at("image-before").addEventListener("click", () => stepImage(-1));
  at("image-after").addEventListener("click", () => stepImage(1));
  const toDraw = (draw) => change({ theta: null, draw: Math.max(0, Math.min((space.draws ?? 2 ** 31) - 1, draw)), severity: null });
  at("draw").addEventListener("change", () => at("draw").value !== "" && toDraw(Math.round(Number(at("draw").value))));
  at("draw-before").addEventListener("click", () => toDraw(state.draw - 1));
  at("draw-after").addEventListener("click", () => toDraw(state.draw + 1));
  at("reset").addEventListener("click", () => change({ theta: space.parameters.map((each) => each.identity), severity: null }));
  at("point-before").addEventListener("click", () => step(-1));
  at("point-after").addEventListener("click", () => step(1));
  at("shade").addEventListener("change", () => {
    drawMap();
    shadeSoon();
  });
  at("shade-choice").hidden = !source.map;
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  const tabs = VIEWS.map((view) => at(`tab-${view}`));
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => change({ view: tab.dataset.view }));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const next = tabs[(place + by + tabs.length) % tabs.length];
      next.focus();
      next.click();
    });
  });
  addEventListener("hashchange", () => change({ own: null, ...possible(fromAddress()) }));
}

function showView() {
  for (const view of VIEWS) {
    at(`view-${view}`).hidden = view !== state.view;
    at(`tab-${view}`).setAttribute("aria-selected", view === state.view);
    at(`tab-${view}`).tabIndex = view === state.view ? 0 : -1;
  }
  if (state.view === "gallery" && galleryOf !== run) {
    galleryOf = run;
    showGallery(run);
  }
  if (state.view === "report") showReport();
}

async function showReport() {
  if (!at("report").hidden) return;
  at("report-said").textContent = "The report is being made …";
  try {
    const found = await source.report();
    at("report-said").textContent = found ? "" : "This run has no report.";
    if (found?.html !== undefined) at("report").srcdoc = found.html;
    else if (found) at("report").src = found.uri;
    at("report").hidden = !found;
  } catch (error) {
    at("report-said").textContent = error.message;
  }
}

/** The picture and the bars: whatever is asked last is shown last. */
const ask = latestWins(
  async (asked, options) => {
    if (!source.evaluate || !space?.live) throw new Error(space?.why || "Nothing is live here.");
    const live = asked.classifiers.filter((name) => run.classifiers.find((each) => each.name === name)?.live);
    const [found] = await Promise.all([source.evaluate({ ...asked, classifiers: live }, options), originalOf(asked)]);
    return found;
  },
  (found, asked) => {
    problem(null);
    const set = setOf();
    const entry = set.images.find(([id]) => id === asked.image);
    const label = !entry || entry[2] < 0 ? "" : `, ${set.classes[entry[2]] ?? entry[2]}`;
    const severity = asked.severity ?? 1;
    const words = {
      original: asked.own ? "Your own image" : `${entry?.[1] ?? asked.image}${label}`,
      changed: severity === 0 ? "Untouched (severity 0)" : `Under ${space.title}`,
    };
    showPictures(originals.get(originalKey(asked)), found, words);
    showTold(space, found);
    showAnswers(run, found, asked.classifiers.filter((name) => found.answers[name]));
    if (!state.theta) showTheta(found.theta);
    markTheta(found.theta);
    document.body.dataset.shown = JSON.stringify([asked.theta, asked.draw, asked.severity, asked.image, asked.nuisance, asked.own]);
    dispatchEvent(new CustomEvent("shown", { detail: asked }));
  },
  (error) => problem(error),
);

const originalKey = (asked) => (asked.own ? `own ${asked.own}` : `${asked.set}\n${asked.image}`);

async function originalOf(asked) {
  const key = originalKey(asked);
  if (originals.has(key)) return;
  originals.set(key, asked.own ? ownPictures.get(asked.own) : (await source.image(asked.set, asked.image)).uri);
}

let pointsAsked = 0;

async function newPoints() {
  const mine = ++pointsAsked;
  setField(null);
  setPoints({ points: [], status: "" });
  const sampled = run.points.some((each) => each.images?.includes(state.image) && each.set === state.set && each.nuisance === state.nuisance && each.classifier === state.first);
  if (state.own || !sampled) return;
  try {
    const { set, image, nuisance } = state;
    const found = await source.weakPoints({ set, image, nuisance, classifier: state.first });
    if (mine === pointsAsked) setPoints(found);
  } catch (error) {
    problem(error);
  }
}

let shading;
const shade = latestWins((asked, options) => source.map(asked, options), setField, () => setField(null));

function shadeSoon() {
  clearTimeout(shading);
  if (!source.map || !space?.live || space.parameters.length < 2) return;
  shading = setTimeout(() => {
    if (!at("shade").value || state.view !== "explore") return;
    const asked = { ...query(), ...axes(), classifier: state.first };
    shade(asked, JSON.stringify(asked));
  }, SETTLED);
}

let version = null;

async function lookAgain() {
  try {
    const now = await source.version();
    if (version !== null && now !== version) {
      run = await source.run();
      describe();
      newPoints();
      if (state.view === "gallery") showView();
    }
    version = now;
  } catch {
    // the server may be gone; the next question says so
  }
}

function theme() {
  const chosen = at("theme");
  try {
    chosen.value = localStorage.getItem("brittle-theme") ?? "";
  } catch {
    chosen.value = "";
  }
  const apply = () => (document.documentElement.dataset.theme = chosen.value);
  chosen.addEventListener("change", () => {
    apply();
    try {
      localStorage.setItem("brittle-theme", chosen.value);
    } catch {
      // a page from disk may have no storage
    }
    drawMap();
  });
  apply();
}

begin().catch((error) => problem(error));
