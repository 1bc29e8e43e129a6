/**
 * What the page asks, whoever answers: a server with the opened run (server_source.js), or files beside the page and
 * classifiers that run in the browser (bundle_source.js).
 *
 * A source is an object with these members. All methods give promises; those that take `{signal}` may be aborted, and
 * then reject with an AbortError. What is wrong rejects with an Error whose message is a sentence for the reader.
 *
 * Required
 *   kind                    "server" or "bundle"
 *   run()                   → Run
 *   image(set, id)          → {uri}: the untouched picture
 *   weakPoints(query)       → WeakPoints; `query` is {set, image, nuisance, classifier}
 *   gallery(query)          → Gallery; `query` is described there
 *   report()                → {uri} of a page with every section's blocks, shown in a frame; {html} where it is text;
 *                             null where there is none
 *
 * Optional: left out where a source can't do it, and the page then leaves out what needs it.
 *   evaluate(query, {signal})     → Evaluation; `query` is {set, image, nuisance, theta, draw, severity, classifiers, own}
 *   map(query, {signal})          → PosteriorMap; `query` is evaluate's with {x, y, classifier}
 *   ownImage(blob, set)           → {own, uri}: `own` stands for the picture in later queries, `uri` is what classifiers see
 *   reproduce(query)              → {python, command}: text that computes what `evaluate` says of the same query
 *   saveCase(query)               → {file}: `query` is evaluate's with {name, classifier}
 *   version()                     → a text that changes when the run has new results; asked every few seconds
 *
 * Run
 *   {title, version, going,       "" or a sentence about what is still computed
 *    notes,                       sentences about what can't be shown or can't be live, and why
 *    classifiers: [{name, classes: [text], live, why}],       `why`: a sentence where it is not live
 *    sets: [{name, classes: [text], total, shape: [C, H, W], images: [[id, name, label]]}],   label −1: none
 *    spaces: [Space],             the nuisances on each image set
 *    points: [{set, nuisance, classifier, measure, images: [id]}]}   where `gallery` and `weakPoints` have something;
 *                                 `images` null: all
 *
 * Space: a nuisance on an image set
 *   {set, nuisance, title, spec, prior,      `title` for people; `prior`: what it means on these images
 *    live, why,
 *    draws,                       how many draws of the prior can be asked for by number; null: as many as one likes
 *    parameters: [Parameter],     of θ; empty where θ is a field over the pixels or has many numbers, and only draw and
 *                                 severity can be chosen
 *    readings: [{name, unit}],    other numbers that θ is told in
 *    scale: {unit, per_severity, limit, values}}   severities in `unit` are severity × per_severity; `values`: the only
 *                                 ones there are, or null
 * Parameter
 *   {name, unit, low, high, step, identity}      low and high: where nearly all of the prior lies
 *
 * Evaluation: T_θ x, and what classifiers say of it. The query gives `theta`, or `draw` (a number of the prior's draws)
 *   where it is null. `severity` null or 1: θ as it is; otherwise the point at that severity on the path through θ.
 *   {theta, readings,             null where θ has too many numbers
 *    log_prior,                   log p(θ | x) minus its value at the identity; null where the prior has no density
 *    pictures: [{classifier, uri}],   one with classifier "" where all see the same
 *    answers: {name: {label, top: [[class, probability]]}}}   `label`: the right class as the classifier counts, −1:
 *                                 none; `top`: all classes, or the likeliest and the right one, the likeliest first
 *
 * Point: a θ that a measure has kept, with what was said there
 *   {set, image, nuisance, classifier, theta, draw, readings, label, predicted, p_label, p_predicted, log_prior, uri}
 *   `label` and `predicted` as the classifier counts; `theta` or `draw` as in a query; `uri` in galleries only
 * WeakPoints   {points: [Point], status}      `status`: "" or why the draws can't be trusted
 * Gallery   {total, items: [Point], labels: [[class, count]], flows: [[label, predicted, count]]}
 *   for the query {set, nuisance, classifier, measure, label, predicted, wrong, sort, descending, offset, limit}; `label`
 *   and `predicted` null: any; `wrong`: only where they differ; `sort`: "image", "p_label", "p_predicted" or "log_prior"
 * PosteriorMap   {x: [numbers], y: [numbers], wrong: [[p(not label)]], log_prior: [[…]] or null}, rows along y: over two
 *   parameters (their places in θ), the others as in `theta`
 */

const REQUIRED = ["run", "image", "weakPoints", "gallery", "report"];

/** Whether an object is a source; an Error that names what it lacks. */
export function checkedSource(source) {
  const lacking = REQUIRED.filter((name) => typeof source[name] !== "function");
  if (lacking.length) throw new Error(`This source lacks ${lacking.join(", ")}.`);
  return source;
}

/** The source of this page: index.html says which by <meta name="source" content="server"> or "bundle". */
export async function openSource() {
  const kind = document.querySelector('meta[name="source"]').content;
  const module = kind === "bundle" ? await import("./bundle_source.js") : await import("./server_source.js");
  return checkedSource(await module.open());
}
