/** One image at a time, by keyboard or mouse. What has been answered is the server's business: nothing is kept here. */

const HEADER = "X-Brittle-Token";
const LABELS = { 1: "class", 2: "partly", 3: "not" };
const SMALL = 128; // pixels; smaller pictures are shown pixel by pixel
const at = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") ?? "";
const state = { person: "", item: null, label: null, busy: false };

async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { [HEADER]: token, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error || `The server says ${answer.status}.`);
  return said;
}

/** Asks, and shows what comes back; a key pressed meanwhile is not taken for an answer to the next image. */
async function act(path, body) {
  if (state.busy) return;
  state.busy = true;
  try {
    show(await ask(path, { person: state.person, ...body }));
    problem(null);
  } catch (error) {
    problem(error);
  } finally {
    state.busy = false;
  }
}

function problem(error) {
  const lost = error instanceof TypeError;
  at("problem").hidden = !error;
  at("problem").textContent = !error ? "" : lost ? "The server can't be reached. Start it again, then answer again." : error.message;
}

function show(found) {
  Object.assign(state, { item: found.item, label: null });
  at("who").hidden = true;
  at("work").hidden = !found.item;
  at("finished").hidden = Boolean(found.item);
  at("progress").textContent = `${found.person}: ${found.labelled} labelled, ${found.left} to go`;
  document.body.dataset.image = found.item ? found.item.image : "";
  if (!found.item) {
    at("finished").focus();
    return;
  }
  const item = found.item;
  at("class").textContent = item.class;
  at("kind").textContent = item.example ? "A real image, to begin the class with. Label it like the others." : "A generated image.";
  at("picture").src = item.uri;
  at("beside").hidden = !item.example_uri;
  if (item.example_uri) at("example").src = item.example_uri;
  else at("example").removeAttribute("src");
  at("shift").textContent = item.shift;
  at("question-shift").hidden = true;
  for (const button of document.querySelectorAll("[data-label]")) {
    button.setAttribute("aria-pressed", String(item.answer?.label === button.dataset.label));
  }
}

function choose(label) {
  if (!state.item || state.busy) return;
  state.label = label;
  for (const button of document.querySelectorAll("[data-label]")) {
    button.setAttribute("aria-pressed", String(button.dataset.label === label));
  }
  if (state.item.ask_shift) at("question-shift").hidden = false;
  else act("/api/answer", { image: state.item.image, label, shift_visible: null });
}

function choose_visible(visible) {
  if (!state.item || state.label === null || !state.item.ask_shift) return;
  act("/api/answer", { image: state.item.image, label: state.label, shift_visible: visible });
}

const back = () => act("/api/back", { image: state.item ? state.item.image : null });

function begin(person) {
  state.person = person;
  sessionStorage.setItem("person", person);
  act("/api/next", {});
}

for (const picture of document.querySelectorAll("img")) {
  picture.addEventListener("load", () => picture.classList.toggle("small", picture.naturalWidth <= SMALL));
}
for (const button of document.querySelectorAll("[data-label]")) {
  button.addEventListener("click", () => choose(button.dataset.label));
}
for (const button of document.querySelectorAll("[data-visible]")) {
  button.addEventListener("click", () => choose_visible(button.dataset.visible === "yes"));
}
at("back").addEventListener("click", back);
at("back-from-end").addEventListener("click", back);
at("who").addEventListener("submit", (event) => {
  event.preventDefault();
  begin(at("person").value);
});
document.addEventListener("keydown", (event) => {
  if (!state.person || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target instanceof HTMLInputElement) return;
  if (event.key in LABELS) choose(LABELS[event.key]);
  else if (event.key === "y" || event.key === "n") choose_visible(event.key === "y");
  else if (event.key === "Backspace") back();
  else return;
  event.preventDefault();
});

const known = sessionStorage.getItem("person");
if (known) begin(known);
else at("person").focus();
