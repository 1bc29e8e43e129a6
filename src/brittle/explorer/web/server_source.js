/** The source that asks the server which has given this page. */

const HEADER = "X-Brittle-Token";

export async function open() {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  async function ask(path, body, signal) {
    const answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { [HEADER]: token, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error || `The server says ${answer.status}.`);
    return said;
  }

  return {
    kind: "server",
    run: () => ask("/api/run"),
    image: (set, id) => ask("/api/image", { set, image: id }),
    evaluate: (query, { signal } = {}) => ask("/api/evaluate", query, signal),
    weakPoints: (query, { signal } = {}) => ask("/api/points", query, signal),
    gallery: (query, { signal } = {}) => ask("/api/gallery", query, signal),
    map: (query, { signal } = {}) => ask("/api/map", query, signal),
    reproduce: (query) => ask("/api/reproduce", query),
    saveCase: (query) => ask("/api/case", query),
    version: async () => (await ask("/api/version")).version,
    async ownImage(blob, set) {
      const answer = await fetch(`/api/own?${new URLSearchParams({ set })}`, { method: "POST", headers: { [HEADER]: token }, body: blob });
      const said = await answer.json();
      if (!answer.ok) throw new Error(said.error);
      return said;
    },
    async report() {
      const { uri } = await ask("/api/report");
      return uri ? { uri } : null;
    },
  };
}
