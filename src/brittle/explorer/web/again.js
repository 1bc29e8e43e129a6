/** What the reader takes along: a link, Python or a command that computes the same, and a case for the gate. */

import { at, copy } from "./dom.js";
import { address, query, state } from "./state.js";

export function makeAgain(source) {
  at("copy-link").addEventListener("click", async () => {
    history.replaceState(null, "", address());
    await copy(location.href);
    at("copy-link").textContent = "Copied";
    setTimeout(() => (at("copy-link").textContent = "Copy link"), 1500);
  });
  const said = (text) => (at("again-said").textContent = text);
  for (const [id, key] of [["copy-python", "python"], ["copy-command", "command"]]) {
    at(id).hidden = !source.reproduce;
    at(id).addEventListener("click", async () => {
      try {
        const found = await source.reproduce(query());
        at("again-text").textContent = found[key];
        await copy(found[key]);
        said("Copied.");
      } catch (error) {
        said(error.message);
      }
    });
  }
  at("again").querySelector("details").hidden = !source.reproduce;
  at("case").hidden = !source.saveCase;
  at("again").hidden = !source.reproduce && !source.saveCase;
  at("case").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const found = await source.saveCase({ ...query(), name: at("case-name").value.trim(), classifier: state.first });
      said(`Saved in ${found.file}: ${found.expected} must come out.`);
      at("case-name").value = "";
    } catch (error) {
      said(error.message);
    }
  });
}
