// Keeps a piece of a page fresh while something runs, and asks before what cannot be taken back.
"use strict";
for (const form of document.querySelectorAll("form[data-ask]")) {
  form.addEventListener("submit", (event) => { if (!window.confirm(form.dataset.ask)) event.preventDefault(); });
}
for (const place of document.querySelectorAll("[data-refresh]")) {
  const again = async () => {
    const answer = await fetch(place.dataset.refresh, { headers: { "X-Requested-With": "fetch" } }).catch(() => null);
    if (answer && answer.ok) {
      const text = await answer.text();
      if (text !== place.dataset.last) { place.innerHTML = text; place.dataset.last = text; }
      if (answer.headers.get("X-Settled") === "yes") { window.location.reload(); return; }
    }
    window.setTimeout(again, document.hidden ? 30000 : 4000);
  };
  window.setTimeout(again, 4000);
}
