import { openSource } from "./source.js";

const source = await openSource();
const run = await source.run();
document.getElementById("app").textContent = run.title;
