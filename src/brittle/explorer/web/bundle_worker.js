/** Runs the graphs of a bundle, off the page's own thread: what changes an image and classifies it is in the graph. */

import * as ort from "./runtime/ort.js";

ort.env.wasm.numThreads = 1; // several threads need headers that plain file servers don't send
ort.env.wasm.wasmPaths = { wasm: new URL("./runtime/ort-wasm-simd-threaded.wasm", import.meta.url).href };

const SESSIONS = 4; // graphs that are kept ready
const sessions = new Map(); // file → promise of a session, the last used at the end
const weights = new Map(); // file → promise of its bytes
const dropped = new Set(); // numbers of questions that nobody waits for any more
let last = Promise.resolve(); // one question is computed at a time

async function bytes(file) {
  const answer = await fetch(file);
  if (!answer.ok) throw new Error(`The file ${file} of this bundle can't be read (${answer.status}).`);
  return new Uint8Array(await answer.arrayBuffer());
}

function once(known, key, make) {
  if (!known.has(key)) known.set(key, make().catch((error) => (known.delete(key), Promise.reject(error))));
  return known.get(key);
}

async function opened(graph) {
  const options = { executionProviders: ["wasm"] };
  if (graph.weights) {
    const data = await once(weights, graph.weights, () => bytes(graph.weights));
    options.externalData = [{ path: graph.weights.split("/").pop(), data }];
  }
  return ort.InferenceSession.create(await bytes(graph.file), options);
}

async function sessionOf(graph) {
  const found = once(sessions, graph.file, () => opened(graph));
  sessions.delete(graph.file);
  sessions.set(graph.file, found);
  while (sessions.size > SESSIONS) {
    const [file, oldest] = sessions.entries().next().value;
    sessions.delete(file);
    await (await oldest).release();
  }
  return found;
}

function whole(number) {
  return new ort.Tensor("int64", BigInt64Array.of(BigInt(number)), [1]);
}

function floats(values, shape) {
  return new ort.Tensor("float32", values, shape);
}

/** Inputs of a graph: {pixels, shape, severity, theta or id and draw, extras: [{values, shape}]}. */
function inputs(given) {
  const found = { image: floats(given.pixels, [1, ...given.shape]), severity: floats(Float32Array.of(given.severity), [1]) };
  if (given.theta) found.theta = floats(Float32Array.from(given.theta), [1, given.theta.length]);
  else [found.id, found.draw] = [whole(given.id), whole(given.draw)];
  given.extras.forEach(({ values, shape }, place) => (found[`extra_${place}`] = floats(values, shape)));
  return found;
}

async function run({ graph, given, want }) {
  const session = await sessionOf(graph);
  const names = want ? want.filter((name) => session.outputNames.includes(name)) : session.outputNames;
  const made = await session.run(inputs(given), names);
  return Object.fromEntries(names.map((name) => [name, made[name].data]));
}

/** 1 − p(label) over a grid of two numbers of θ, row by row. */
async function map({ graph, given, x, y, across, down, label }, number) {
  const wrong = [];
  const density = [];
  for (const low of down) {
    await new Promise((done) => setTimeout(done)); // messages get a turn
    if (dropped.has(number)) return null;
    const rows = [[], []];
    for (const left of across) {
      const theta = Float32Array.from(given.theta);
      [theta[x], theta[y]] = [left, low];
      const found = await run({ graph, given: { ...given, theta }, want: ["log_probs", "log_prior"] });
      rows[0].push(1 - Math.exp(found.log_probs[label]));
      if (found.log_prior) rows[1].push(found.log_prior[0]);
    }
    wrong.push(rows[0]);
    if (rows[1].length) density.push(rows[1]);
  }
  return { wrong, log_prior: density.length ? density : null };
}

async function answer({ number, kind, question }) {
  if (dropped.delete(number)) return;
  try {
    const found = await (kind === "map" ? map(question, number) : run(question));
    postMessage({ number, found });
  } catch (error) {
    postMessage({ number, error: String(error?.message ?? error) });
  }
  dropped.delete(number);
}

onmessage = ({ data }) => {
  if (data.drop !== undefined) dropped.add(data.drop);
  else last = last.then(() => answer(data));
};
