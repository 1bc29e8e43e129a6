/** Images of the reader's own: dropped, chosen as a file, or drawn. */

import { at, problem } from "./dom.js";
import { change, state } from "./state.js";

export const pictures = new Map(); // own → uri

export function makeOwn(source) {
  at("own").hidden = !source.ownImage;
  if (!source.ownImage) return;

  async function use(blob) {
    try {
      const { own, uri } = await source.ownImage(blob, state.set);
      pictures.set(own, uri);
      problem(null);
      change({ own });
    } catch (error) {
      problem(error);
    }
  }

  at("own-file").addEventListener("change", (event) => {
    if (event.target.files.length) use(event.target.files[0]);
    event.target.value = "";
  });
  at("own-back").addEventListener("click", () => change({ own: null }));
  const place = at("pictures");
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => event.preventDefault());
  place.addEventListener("dragover", () => place.classList.add("over"));
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    place.classList.remove("over");
    if (event.dataTransfer.files.length) use(event.dataTransfer.files[0]);
  });
  makeCanvas(use);
}

function makeCanvas(use) {
  const canvas = at("canvas");
  const painter = canvas.getContext("2d");
  const clear = () => {
    painter.fillStyle = at("paper").value;
    painter.fillRect(0, 0, canvas.width, canvas.height);
  };
  clear();
  let last = null;
  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = spot(event);
    line(last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const next = spot(event);
    line(last, next);
    last = next;
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => (last = null));
  function line(from, to) {
    painter.strokeStyle = at("ink").value;
    painter.lineWidth = Number(at("pen").value);
    painter.lineCap = "round";
    painter.beginPath();
    painter.moveTo(...from);
    painter.lineTo(...to);
    painter.stroke();
  }
  at("paper").addEventListener("input", clear);
  at("own-draw").addEventListener("click", () => at("draw-dialog").showModal());
  at("draw-clear").addEventListener("click", clear);
  at("draw-close").addEventListener("click", () => at("draw-dialog").close());
  at("draw-use").addEventListener("click", () => {
    at("draw-dialog").close();
    canvas.toBlob(use, "image/png");
  });
}
