// SPDX-License-Identifier: Apache-2.0
// What a page that is served asks its server for: one answer at a time. The address of the page says which one it shows.

const k_ask_ms = 300_000;      // the server ends what takes long before that
let asked = location.search;   // what is shown, or was asked for last
let nextAsk = null;           // what is to be asked next: a newer one takes its place
let isAsking = false;

/** query: "?at=…" or ""; onEnd(problem): "" when it is shown. A newer call replaces one that still waits. */
function ask(query, onEnd) {
  nextAsk = { query, onEnd };
  if (!isAsking) askNext();
}

async function askNext() {
  isAsking = true;
  while (nextAsk) {
    const { query, onEnd } = nextAsk;
    nextAsk = null;
    let problem = "";
    try {
      const answer = await fetch(`${location.pathname}${query}${query ? "&" : "?"}data`, { cache: "no-store", signal: AbortSignal.timeout(k_ask_ms) });
      const text = await answer.text();
      if (!answer.ok) problem = text.replaceAll("berth: ", "").trim();
      else {
        asked = query;
        history.replaceState(null, "", location.pathname + query + location.hash);
        showData(text);
      }
    } catch {
      problem = "berth ui gave no answer: was it ended?";
    }
    if (!nextAsk) onEnd(problem);
  }
  isAsking = false;
}

/** Back and forward may lead to an address that says something else than what is shown. */
function followAddress() {
  if (location.search !== asked) location.reload();
}
