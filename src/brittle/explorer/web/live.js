/**
 * Keeps asking while things move: one question at a time, and of those that come meanwhile only the latest. A question
 * that is about another picture cancels the one that is under way.
 */
export function latestWins(ask, show, fail) {
  let running = null;
  let waiting = null;

  async function start(query, about) {
    const control = new AbortController();
    running = { control, about };
    try {
      const found = await ask(query, { signal: control.signal });
      if (!control.signal.aborted) show(found, query);
    } catch (error) {
      if (error.name !== "AbortError" && !control.signal.aborted) fail(error);
    } finally {
      if (running?.control === control) running = null;
      if (!running && waiting) {
        const next = waiting;
        waiting = null;
        start(next.query, next.about);
      }
    }
  }

  /** Asks; `about` says what must be the same for an answer under way to be of use still. */
  return (query, about = "") => {
    if (running && running.about === about) {
      waiting = { query, about };
      return;
    }
    running?.control.abort();
    waiting = null;
    start(query, about);
  };
}
