/** The source that reads files beside the page, and runs classifiers in the reader's browser (bundle_worker.js). */

const MAP_SIDE = 15; // places of a map along each of its parameters
const MOST_TOLD = 16; // numbers of θ that are told
const ALL_SHOWN = 20; // classes; of more the likeliest so many and the right one
const LUMA = [0.299, 0.587, 0.114]; // ITU-R 601

async function file(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`The file ${path} of this bundle can't be read (${answer.status}).`);
  return answer;
}

const json = async (path) => (await file(path)).json();
const numbers = async (path, Kind) => new Kind(await (await file(path)).arrayBuffer());

/** What `make` gives for a key, made once. */
function remembered(make) {
  const known = new Map();
  return (key, ...rest) => {
    if (!known.has(key)) known.set(key, make(key, ...rest).catch((error) => (known.delete(key), Promise.reject(error))));
    return known.get(key);
  };
}

/** Asks the worker; a question that is aborted is dropped. */
function worker() {
  const waiting = new Map();
  let asked = 0;
  let behind = null;

  function started() {
    behind = new Worker(new URL("./bundle_worker.js", import.meta.url), { type: "module" });
    behind.onmessage = ({ data: { number, found, error } }) => {
      const one = waiting.get(number);
      waiting.delete(number);
      if (one) error === undefined ? one.done(found) : one.failed(new Error(error));
    };
    behind.onerror = (event) => {
      for (const one of waiting.values()) one.failed(new Error(`Classifiers can't run in this browser: ${event.message}`));
      waiting.clear();
    };
  }

  return (kind, question, signal) =>
    new Promise((done, failed) => {
      const aborted = () => new DOMException("No longer wanted.", "AbortError");
      if (signal?.aborted) return failed(aborted());
      if (!behind) started();
      const number = asked++;
      waiting.set(number, { done, failed });
      signal?.addEventListener("abort", () => {
        if (waiting.delete(number)) behind.postMessage({ drop: number });
        failed(aborted());
      });
      behind.postMessage({ number, kind, question });
    });
}

/** Pixels (C, H, W) in [0, 1] as the address of a picture; unless there are three channels, the first in grey. */
function picture(pixels, [channels, height, width]) {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  const shown = context.createImageData(width, height);
  const plane = height * width;
  for (let place = 0; place < plane; place++) {
    for (let colour = 0; colour < 3; colour++) {
      shown.data[4 * place + colour] = Math.round(255 * pixels[channels === 3 ? colour * plane + place : place]);
    }
    shown.data[4 * place + 3] = 255;
  }
  context.putImageData(shown, 0, 0);
  return canvas.convertToBlob().then(
    (blob) =>
      new Promise((done, failed) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.onerror = () => failed(reader.error);
        reader.readAsDataURL(blob);
      }),
  );
}

/** Classes with their probabilities, the likeliest first. */
function likeliest(logProbs, label) {
  const order = Array.from(logProbs.keys()).sort((a, b) => logProbs[b] - logProbs[a] || a - b);
  const shown = order.slice(0, ALL_SHOWN);
  if (label >= 0 && label < order.length && !shown.includes(label)) shown.push(label);
  return shown.map((place) => [place, Math.exp(logProbs[place])]);
}

function sorted(items, { sort, descending }) {
  if (!sort || sort === "image") return descending ? [...items].reverse() : items;
  const sign = descending ? -1 : 1;
  const value = (item) => item[sort];
  return [...items].sort((a, b) => {
    if (value(a) === null || value(b) === null) return (value(a) === null) - (value(b) === null);
    return sign * (value(a) - value(b));
  });
}

export async function open() {
  const { bundle, ...told } = await json("data/run.json");
  const ask = worker();
  const own = new Map(); // name → {pixels, shape}
  const stored = remembered((set) => numbers(bundle.images[set].file, bundle.images[set].bytes ? Uint8Array : Float32Array));
  const plain = remembered((path) => numbers(path, Float32Array));
  const points = remembered(json);
  const spaceAt = (query) => told.spaces.findIndex((each) => each.set === query.set && each.nuisance === query.nuisance);

  function placeOf(set, id) {
    const place = bundle.images[set]?.ids.indexOf(id) ?? -1;
    if (place < 0) throw new Error("This image is not part of the bundle.");
    return place;
  }

  async function pixelsOf(set, id) {
    const place = placeOf(set, id);
    const { shape, bytes } = bundle.images[set];
    const size = shape.reduce((a, b) => a * b);
    const values = (await stored(set)).subarray(place * size, (place + 1) * size);
    return { pixels: bytes ? Float32Array.from(values, (value) => value / 255) : values.slice(), shape };
  }

  /** What a graph is given, but for θ of a slider: θ as given, or that of a draw. */
  async function given(query, at, extras) {
    const found = query.own ? own.get(query.own) : await pixelsOf(query.set, query.image);
    if (!found) throw new Error("That picture of your own is no longer there: choose it again.");
    if (query.own && extras.length) throw new Error("This nuisance reads what is known of the run's images only.");
    const all = { ...found, severity: query.severity ?? 1, theta: null, id: query.own ? 0 : query.image };
    const { theta } = bundle.spaces[at];
    all.extras = await Promise.all(
      extras.map(async ({ file: path, shape }) => {
        const size = shape.reduce((a, b) => a * b);
        const start = placeOf(query.set, query.image) * size;
        return { values: (await plain(path)).slice(start, start + size), shape };
      }),
    );
    all.draw = query.draw ?? 0;
    if (theta && query.theta) all.theta = Float32Array.from(query.theta);
    if (theta && !query.theta) all.theta = await thetaOf(query, at);
    if (theta && all.theta.length !== theta.numbers) throw new Error(`θ has ${theta.numbers} numbers here.`);
    return all;
  }

  async function thetaOf(query, at) {
    const { theta, draws } = bundle.spaces[at];
    if (query.draw === null || query.draw === undefined) throw new Error("Neither θ nor a draw is given.");
    if (query.draw >= draws) throw new Error(`This bundle has the first ${draws} draws of each image.`);
    const image = query.own ? 0 : placeOf(query.set, query.image);
    const start = (image * draws + query.draw) * theta.numbers;
    return (await plain(theta.file)).slice(start, start + theta.numbers);
  }

  /** The graph of a classifier, or that of the change alone where no classifier is named. */
  function graphOf(query, at, name) {
    const space = bundle.spaces[at];
    if (!space) throw new Error("The run has no such nuisance on these images.");
    if (space.why) throw new Error(space.why);
    if (!name) {
      if (!space.change) throw new Error("What this nuisance does differs by classifier: choose one.");
      return { graph: { file: space.change }, extras: [] };
    }
    const found = space.classifiers[name];
    if (!found || found.why) throw new Error(found?.why || `${name} is not live in this bundle.`);
    return { graph: { file: found.graph, weights: found.weights }, extras: found.extras };
  }

  function labelOf(query, name) {
    return query.own ? -1 : bundle.labels[query.set][name][placeOf(query.set, query.image)];
  }

  async function evaluate(query, { signal } = {}) {
    const at = spaceAt(query);
    const answers = {};
    const pictures = [];
    let said = null;
    for (const name of query.classifiers?.length ? query.classifiers : [""]) {
      const { graph, extras } = graphOf(query, at, name);
      const all = await given(query, at, extras);
      const made = await ask("run", { graph, given: all }, signal);
      if (!pictures.length || extras.length) {
        pictures.push({ classifier: extras.length ? name : "", uri: await picture(made.changed, all.shape) });
      }
      said ??= {
        theta: all.theta && all.theta.length <= MOST_TOLD ? Array.from(all.theta) : null,
        readings: made.readings ? Array.from(made.readings) : null,
        log_prior: made.log_prior && Number.isFinite(made.log_prior[0]) ? made.log_prior[0] : null,
      };
      const label = name ? labelOf(query, name) : -1;
      if (name) answers[name] = { label, top: likeliest(made.log_probs, label) };
    }
    return { ...said, severity: query.severity ?? null, pictures, answers };
  }

  async function map(query, { signal } = {}) {
    const at = spaceAt(query);
    const { graph, extras } = graphOf(query, at, query.classifier);
    const all = await given(query, at, extras);
    const { parameters } = told.spaces[at];
    const [x, y] = [query.x, query.y].map((at) => {
      const low = Math.min(parameters[at].low, all.theta[at]);
      const high = Math.max(parameters[at].high, all.theta[at]);
      return Array.from({ length: MAP_SIDE }, (_, k) => low + ((high - low) * k) / (MAP_SIDE - 1));
    });
    let label = labelOf(query, query.classifier);
    if (label < 0) {
      const untouched = { ...all, severity: 0 };
      const here = await ask("run", { graph, given: untouched, want: ["log_probs"] }, signal);
      label = likeliest(here.log_probs, -1)[0][0];
    }
    const question = { graph, given: all, x: query.x, y: query.y, across: x, down: y, label };
    return { x, y, ...(await ask("map", question, signal)) };
  }

  const cellOf = (query, sampled) =>
    bundle.points.find(
      (each) =>
        each.set === query.set &&
        each.nuisance === query.nuisance &&
        each.classifier === query.classifier &&
        (!query.measure || each.measure === query.measure) &&
        (!sampled || each.images !== null),
    );

  async function weakPoints(query) {
    const cell = cellOf(query, true);
    const found = cell && (await points(cell.file)).weak[query.image];
    return found ?? { points: [], status: "" };
  }

  async function gallery(query) {
    const cell = cellOf(query, false);
    if (!cell) return { total: 0, items: [], labels: [], flows: [] };
    const { items, labels, flows } = await points(cell.file);
    const wanted = (value, asked) => asked === null || asked === undefined || value === asked;
    const kept = items.filter(
      (each) =>
        wanted(each.label, query.label) &&
        wanted(each.predicted, query.predicted) &&
        wanted(each.image, query.image) &&
        (!query.wrong || each.label !== each.predicted),
    );
    const offset = query.offset ?? 0;
    return { total: kept.length, items: sorted(kept, query).slice(offset, offset + (query.limit ?? 24)), labels, flows };
  }

  /** A picture of the reader's, as large as those of a set: its middle, enlarged or reduced. */
  async function ownImage(blob, set) {
    const { shape } = bundle.images[set];
    const [channels, height, width] = shape;
    const bitmap = await createImageBitmap(blob);
    const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    const scale = Math.max(width / bitmap.width, height / bitmap.height);
    const [wide, tall] = [bitmap.width * scale, bitmap.height * scale];
    context.imageSmoothingQuality = "high";
    context.fillStyle = "white";
    context.fillRect(0, 0, width, height);
    context.drawImage(bitmap, (width - wide) / 2, (height - tall) / 2, wide, tall);
    const seen = context.getImageData(0, 0, width, height).data;
    const plane = height * width;
    const pixels = new Float32Array(channels * plane);
    for (let place = 0; place < plane; place++) {
      const colours = [0, 1, 2].map((colour) => seen[4 * place + colour] / 255);
      const grey = colours.reduce((sum, value, colour) => sum + LUMA[colour] * value, 0);
      for (let channel = 0; channel < channels; channel++) {
        pixels[channel * plane + place] = channels === 3 ? colours[channel] : grey;
      }
    }
    const name = `own-${own.size}`;
    own.set(name, { pixels, shape });
    return { own: name, uri: await picture(pixels, shape) };
  }

  async function image(set, id) {
    const { pixels, shape } = await pixelsOf(set, id);
    return { uri: await picture(pixels, shape) };
  }

  const source = { kind: "bundle", run: async () => told, image, weakPoints, gallery, report: async () => ({ uri: "report.html" }) };
  return bundle.spaces.some((each) => !each.why) ? { ...source, evaluate, map, ownImage } : source;
}
