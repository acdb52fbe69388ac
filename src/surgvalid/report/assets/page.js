"use strict";
/* Folding, sorting, saving, choosing. Nothing here leaves the page, and the page is complete without it. */
const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

/* --- payload: compressed, opened when first needed --- */
async function inflated(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent.trim()), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}
let payload = null;
const data = () => (payload ??= inflated("payload").then(JSON.parse));
/* --- figures --- */
const chosen = { view: "", track: "", board: "", hidden: new Set() };
const shownImage = (figure) => all(".picture svg", figure).find((svg) => svg.getBoundingClientRect().width > 0) ?? figure.querySelector(".picture svg");
/* Rows and curves of models that are not to be seen step out of every image. */
async function sift() {
  const names = [...chosen.hidden].map((number) => byId("explore").querySelector(`input[data-model="${number}"]`)?.parentElement.textContent);
  const listed = names.filter(Boolean).map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const about = listed.length ? new RegExp(`(^|[ .(])(${listed.join("|")})($|[ ,)])`) : null;
  for (const group of all("g[data-of]")) group.style.display = about?.test(group.dataset.of) ? "none" : "";
}
function cues() {
  for (const picture of all(".picture")) {
    picture.parentElement.classList.toggle("cut", picture.scrollWidth > picture.clientWidth + 4);
  }
}
window.addEventListener("resize", cues);

/* --- saving --- */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
/* The image by itself: every class of colour becomes the colour it has here. */
function svgText(figure) {
  const shown = shownImage(figure);
  const svg = shown.cloneNode(true);
  const marks = all("*", svg);
  all("*", shown).forEach((node, number) => {
    const look = getComputedStyle(node);
    for (const name of ["fill", "stroke"]) if (look[name] && look[name] !== "none") marks[number].setAttribute(name, look[name]);
  });
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("font-family", getComputedStyle(shown).fontFamily);
  svg.setAttribute("font-size", "13");
  return new XMLSerializer().serializeToString(svg);
}
function pngBlob(figure) {
  const { width, height } = shownImage(figure).viewBox.baseVal;
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      const pen = canvas.getContext("2d");
      pen.fillStyle = getComputedStyle(document.body).backgroundColor;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = reject;
    image.src = URL.createObjectURL(new Blob([svgText(figure)], { type: "image/svg+xml" }));
  });
}
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-save]");
  if (!button) return;
  const block = button.closest("figure.chart, .table");
  const kind = button.dataset.save;
  const name = `${block.dataset.name}.${kind}`;
  if (kind === "svg") save(new Blob([svgText(block)], { type: "image/svg+xml" }), name);
  if (kind === "png") save(await pngBlob(block), name);
  if (kind === "csv") save(new Blob([(await data()).csv[block.id]], { type: "text/csv" }), name);
});

/* --- sorting --- */
function valueOf(row, column, number) {
  const cell = row.cells[column];
  if (!number) return cell.textContent.trim() || null;
  const value = Number(cell.dataset.v || cell.textContent);
  return Number.isNaN(value) ? null : value;
}
function sortBy(head) {
  const table = head.closest("table");
  const column = head.cellIndex;
  const number = head.classList.contains("number");
  const before = head.getAttribute("aria-sort");
  const order = before === "none" ? (number ? "descending" : "ascending") : before === "ascending" ? "descending" : "ascending";
  for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row, index) => ({ row, index, value: valueOf(row, column, number) }));
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.index - b.index;
    const by = number ? a.value - b.value : a.value.localeCompare(b.value, undefined, { numeric: true });
    return sign * by || a.index - b.index;
  });
  table.tBodies[0].append(...rows.map((item) => item.row));
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("thead button");
  if (button) sortBy(button.closest("th"));
});

/* --- the instrument: one view of one track and leaderboard at a time, models shown or hidden everywhere --- */
const views = all("#explore > section");
const valuesOf = (name) => all(`button[data-choose=${name}]`).map((button) => button.dataset.value);
function show() {
  const mine = views.filter((view) => view.dataset.view === chosen.view);
  const tracked = mine.some((view) => view.dataset.track);
  for (const view of views) {
    view.hidden = view.dataset.view !== chosen.view || Boolean(view.dataset.track && view.dataset.track !== chosen.track);
    if (!view.hidden) view.querySelector(":scope > details").open = true;
  }
  for (const block of all("[data-board]")) block.hidden = block.dataset.board !== chosen.board;
  for (const button of all("button[data-choose]")) {
    button.setAttribute("aria-pressed", String(chosen[button.dataset.choose] === button.dataset.value));
  }
  for (const group of all(".switch")) {
    if (group.dataset.of === "track") group.hidden = !tracked;
    if (group.dataset.of === "board") group.hidden = !mine.some((view) => view.querySelector("[data-board]"));
  }
  for (const row of all("[data-m]")) row.hidden = row.dataset.m.split(" ").some((number) => chosen.hidden.has(number));
  const boxes = all("input[data-model]");
  if (boxes.length) {
    const left = boxes.length - chosen.hidden.size;
    byId("shown-models").textContent = chosen.hidden.size ? `${left} of ${boxes.length} shown` : `all ${boxes.length} shown`;
  }
  sift();
  cues();
}
function startInstrument() {
  if (!views.length) return;
  document.body.classList.add("scripted");
  chosen.view = views[0].dataset.view;
  chosen.track = valuesOf("track")[0] ?? views.find((view) => view.dataset.track)?.dataset.track ?? "";
  chosen.board = valuesOf("board")[0] ?? all("[data-board]")[0]?.dataset.board ?? "";
  for (const bar of all(".switches")) bar.hidden = false;
  show();
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-choose]");
  if (button) {
    chosen[button.dataset.choose] = button.dataset.value;
    show();
  }
  if (event.target.id === "all-models" || event.target.id === "no-models") {
    const on = event.target.id === "all-models";
    for (const box of all("input[data-model]")) box.checked = on;
    chosen.hidden = new Set(on ? [] : all("input[data-model]").map((box) => box.dataset.model));
    show();
  }
});
document.addEventListener("change", (event) => {
  const box = event.target.closest("input[data-model]");
  if (!box) return;
  if (box.checked) chosen.hidden.delete(box.dataset.model);
  else chosen.hidden.add(box.dataset.model);
  show();
});

/* --- wrong answers one by one; all text enters as text --- */
const PAGE = 20;
const made = (tag, name, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
};
const browser = document.querySelector(".browser");
const filter = (name) => browser.querySelector(`select[data-filter=${name}]`);
const words = (term) => term.replace(/\[(yes|true|True)\]$/, "").replace(/\[(.*)\]$/, ": $1").replaceAll("_", " ");
let shownCases = PAGE;
function matching(contents) {
  const [model, property, kind, video] = ["model", "property", "kind", "video"].map((name) => filter(name).value);
  const [name, level] = property.split("\u0000");
  const listed = contents.cases.filter((one) => (!kind || one.k === kind) && (!video || one.v === video)
    && (!property || one.p[name] === level)
    && (model === "" || one.a.some((answer) => String(answer[0]) === model && answer[5])));
  if (model === "") return listed;
  const explains = (one) => Number(one.w.some((pair) => String(pair[0]) === model));
  return listed.map((one, index) => ({ one, index })).sort((a, b) => explains(b.one) - explains(a.one) || a.index - b.index).map((pair) => pair.one);
}
/* Reference, and one model: the chosen one, or the first that has the case wrong. */
function pictured(one, contents, model) {
  const strip = made("div", "strip");
  const theirs = model !== "" ? Number(model) : (one.a.find((answer) => answer[5] && !chosen.hidden.has(String(answer[0]))) ?? [-1])[0];
  const drawn = (who) => who === 0 || who === theirs + 1;
  const picture = (source, words, name) => {
    const image = made("img", name);
    image.src = source;
    image.alt = words;
    image.loading = "lazy";
    return image;
  };
  for (const frame of one.f ?? []) {
    const holder = made("div", "frame");
    const where = frame.n ?? one.v + (frame.at === undefined ? "" : ` at ${frame.at} s`);
    if (frame.u) holder.append(picture(frame.u, `Frame of ${where}`, ""));
    else holder.classList.add("bare");
    if (frame.z) holder.style.aspectRatio = `${frame.z[0]} / ${frame.z[1]}`;
    for (const [who, source] of (frame.m ?? []).filter(([who]) => drawn(who))) {
      const whose = who ? `prediction of ${contents.models[theirs]}` : "reference";
      holder.append(picture(source, `Outlines of the ${whose} in ${where}`, "over"));
    }
    for (const [who, label, x, y, width, height] of (frame.b ?? []).filter(([who]) => drawn(who))) {
      const box = made("span", who ? "box theirs" : "box");
      box.style.cssText = `left:${100 * x}%;top:${100 * y}%;width:${100 * width}%;height:${100 * height}%`;
      box.append(made("span", "", label));
      holder.append(box);
    }
    if (frame.n) holder.append(made("span", "named", frame.n));
    strip.append(holder);
  }
  const predicted = one.f.some((frame) => [...(frame.m ?? []), ...(frame.b ?? [])].some(([who]) => who && drawn(who)));
  if (one.f.some((frame) => frame.z)) strip.append(made("p", "about legend", `Yellow: reference. ${predicted ? `Blue: ${contents.models[theirs]}` : theirs < 0 ? "" : `${contents.models[theirs]} has none here`}.`));
  return strip;
}
function caseNode(one, contents, model) {
  const item = made("li", "case");
  const facts = [one.k, one.t, one.v, one.s && (one.s[0] === one.s[1] ? `at ${one.s[0]} s` : `${one.s[0]} to ${one.s[1]} s`), one.c];
  item.append(made("p", "about", facts.filter(Boolean).join(" · ")));
  if (one.q) item.append(made("p", "question", one.q));
  if (one.f?.length) item.append(pictured(one, contents, model));
  if (one.r !== undefined) item.append(made("p", "reference", `Reference: ${one.r}`));
  const table = made("table", "answers");
  const head = table.createTHead().insertRow();
  for (const word of ["right", "model", "answer", "score", "s", "outcome"]) {
    const cell = made("th", "", word);
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const [number, value, text, seconds, status, wrong] of one.a) {
    const row = body.insertRow();
    row.dataset.m = String(number);
    row.hidden = chosen.hidden.has(String(number));
    if (String(number) === model) row.className = "chosen";
    for (const word of [wrong ? "\u2717" : "\u2713", contents.models[number], text ?? "", value ?? "", seconds ?? "", status]) row.append(made("td", "", String(word)));
  }
  item.append(table);
  const why = one.w.map(([number, term]) => `${contents.models[number]}: ${words(term)}`);
  if (why.length) item.append(made("p", "why", `Has what was found to harm: ${why.join("; ")}`));
  const levels = Object.entries(one.p).filter(([, level]) => level !== "no").map(([name, level]) => (level === "yes" ? words(name) : `${words(name)}: ${level}`));
  if (levels.length) item.append(made("p", "about", levels.join(" · ")));
  return item;
}
async function browse() {
  if (!browser) return;
  const contents = await data();
  browser.hidden = false;
  const listed = matching(contents);
  const model = filter("model").value;
  browser.querySelector(".found").textContent = `${listed.length.toLocaleString("en")} cases`;
  browser.querySelector(".cases").replaceChildren(...listed.slice(0, shownCases).map((one) => caseNode(one, contents, model)));
  browser.querySelector(".more").hidden = listed.length <= shownCases;
  const sentence = model === "" ? null : document.querySelector(`#why li[data-m="${model}"]`);
  browser.querySelector(".because").textContent = sentence ? sentence.textContent : "";
}
async function startBrowser() {
  if (!browser) return;
  const { cases, models } = await data();
  const options = (name, values) => filter(name).append(...values.map(([value, text]) => new Option(text, value)));
  options("model", models.map((model, number) => [String(number), model]));
  options("kind", [...new Set(cases.map((one) => one.k))].filter(Boolean).sort().map((kind) => [kind, kind]));
  options("video", [...new Set(cases.map((one) => one.v))].sort().map((video) => [video, video]));
  const levels = new Set(cases.flatMap((one) => Object.entries(one.p).filter(([, level]) => level !== "no").map((pair) => pair.join("\u0000"))));
  options("property", [...levels].sort().map((pair) => [pair, pair.split("\u0000")[1] === "yes" ? words(pair.split("\u0000")[0]) : words(pair.split("\u0000")[0]) + ": " + pair.split("\u0000")[1]]));
  browser.addEventListener("change", () => { shownCases = PAGE; browse(); });
  browser.querySelector(".more").addEventListener("click", () => { shownCases += PAGE; browse(); });
  await browse();
  await showWorst();
}
/* A case in few words: what is right, what the model said, and how the others did. */
function worstNode(one, contents, model) {
  const item = made("li", "case");
  const mine = one.a.find(([number]) => number === model);
  const others = (wrong) => one.a.filter((answer) => answer[0] !== model && Boolean(answer[5]) === wrong).map(([number]) => contents.models[number]).join(", ");
  item.append(made("p", "about", [one.k, one.v, one.s && `at ${one.s[0]} s`].filter(Boolean).join(" · ")));
  if (one.f?.length) item.append(pictured(one, contents, String(model)));
  if (one.q) item.append(made("p", "question", one.q));
  if (one.r !== undefined) item.append(made("p", "", `Right: ${one.r}`));
  item.append(made("p", "why", `${contents.models[model]}: ${mine?.[2] ?? mine?.[4] ?? ""}`));
  for (const [wrong, word] of [[false, "right"], [true, "wrong too"]]) if (others(wrong)) item.append(made("p", "about", `${others(wrong)}: ${word}`));
  return item;
}
/* The first three cases of the weakness that the first page names. */
async function showWorst() {
  const place = document.querySelector(".worst");
  if (!place || place.dataset.why === "") return;
  const contents = await data();
  const model = Number(place.dataset.why);
  const listed = contents.cases.filter((one) => one.w.some(([number, term]) => number === model && (!place.dataset.term || term === place.dataset.term))).slice(0, 3);
  if (!listed.length) return;
  const list = made("ol", "cases");
  list.append(...listed.map((one) => worstNode(one, contents, model)));
  place.append(list);
  place.hidden = false;
}
/* A phone shows one leaderboard at a time. */
for (const table of all(".standings")) {
  const choice = table.querySelector(".choose");
  const choose = () => {
    for (const row of all("tr", table)) [...row.cells].forEach((cell, number) => cell.classList.toggle("at", number === Number(choice.querySelector("select").value)));
  };
  choice.hidden = false;
  table.classList.add("chosen");
  choice.addEventListener("change", choose);
  choose();
}
const started = startBrowser();
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-why]");
  if (!link || !browser) return;
  await started;
  filter("model").value = link.dataset.why;
  shownCases = PAGE;
  browse();
});

/* --- folding --- */
function reveal() {
  const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  const view = target?.closest("#explore > section");
  if (view) {
    chosen.view = view.dataset.view;
    chosen.board = target.closest("[data-board]")?.dataset.board ?? chosen.board;
    if (target !== view && view.dataset.track) chosen.track = view.dataset.track;
    show();
    if (target === view) (byId("explore") ?? view).scrollIntoView();
    else target.scrollIntoView();
    return;
  }
  const fold = target?.closest("details") ?? target?.querySelector(":scope > details");
  if (fold) fold.open = true;
}
window.addEventListener("hashchange", reveal);
startInstrument();
reveal();
cues();
document.addEventListener("click", (event) => {
  if (event.target.closest(".points a")) setTimeout(reveal);
});
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = all("details:not([open])").filter((fold) => !fold.closest(".tools"));
  folded.forEach((fold) => { fold.open = true; });
});
window.addEventListener("afterprint", () => folded.forEach((fold) => { fold.open = false; }));
