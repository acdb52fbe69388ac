"use strict";
const $ = (name) => document.getElementById(name);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const data = JSON.parse($("data").textContent);
let shown = [];
let at = 0;

const isWrong = (run) => run.score === null ? run.reading !== "ok" && run.reading !== "repaired" : run.score < 1;
const differ = (one) => new Set(one.runs.map((run) => run.answer)).size > 1;
const runsOf = (one) => one.runs.filter((run) => !$("model").value || run.model === $("model").value);

function keeps(one) {
  const runs = runsOf(one);
  const reading = $("reading").value;
  const words = $("words").value.toLowerCase();
  return runs.length > 0
    && (!reading || runs.some((run) => run.reading === reading))
    && (!$("reference").value || one.classes.includes($("reference").value))
    && (!$("wrong").checked || runs.some(isWrong))
    && (!$("differ").checked || differ(one))
    && (!words || JSON.stringify([one.case, one.video, one.prompt, one.reference, runs]).toLowerCase().includes(words));
}

function filter() {
  const held = shown[at];
  shown = data.cases.filter(keeps);
  at = Math.max(0, shown.indexOf(held));
  draw();
}

function row(run) {
  const line = make("tr");
  line.append(make("th", run.model));
  const wrong = isWrong(run);
  const score = run.score === null ? "not scored by itself" : String(Math.round(run.score * 1000) / 1000);
  line.append(make("td", `${wrong ? "wrong" : "right"}: ${score}`, wrong ? "wrong" : "right"));
  const reading = make("td");
  reading.append(make("div", `${run.status}, ${run.reading}`), make("div", run.why));
  line.append(reading, make("td", run.answer ?? "none"));
  const reply = make("td");
  reply.append(make("pre", run.reply || "(no text)"));
  line.append(reply);
  return line;
}

function draw() {
  $("count").textContent = `${shown.length ? at + 1 : 0} of ${shown.length} (of ${data.cases.length})`;
  const place = $("case");
  place.replaceChildren();
  const one = shown[at];
  if (!one) {
    place.append(make("p", "No case fits these filters."));
    return;
  }
  place.append(make("h2", `${one.task}: ${one.case}`), make("p", `Video ${one.video}. Reference: ${one.reference}`));
  const pictures = make("div", undefined, "pictures");
  for (const [number, name] of one.pictures.entries()) {
    const figure = make("figure");
    const image = make("img");
    image.src = data.pictures[name.id];
    image.alt = `Image ${number + 1} of ${one.pictures.length}`;
    figure.append(image, make("figcaption", name.at === null ? "" : `${name.at} s`));
    pictures.append(figure);
  }
  place.append(pictures);
  const prompt = make("details");
  prompt.append(make("summary", "Prompt"), make("pre", one.prompt));
  place.append(prompt);
  const table = make("table");
  const head = make("tr");
  for (const word of ["model", "score", "how it was read, and why", "answer", "reply"]) head.append(make("th", word));
  table.append(head, ...runsOf(one).map(row));
  place.append(table);
}

function step(by) {
  if (!shown.length) return;
  at = (at + by + shown.length) % shown.length;
  draw();
}

function options(name, all, values) {
  $(name).append(new Option(all, ""), ...values.map((value) => new Option(value, value)));
}

const each = (of) => [...new Set(data.cases.flatMap(of))].sort();
options("model", "all", each((one) => one.runs.map((run) => run.model)));
options("reading", "any", each((one) => one.runs.map((run) => run.reading)));
options("reference", "any", each((one) => one.classes));
$("title").textContent = data.title;
$("facts").textContent = data.facts;
for (const name of ["model", "reading", "reference", "wrong", "differ"]) $(name).addEventListener("change", filter);
$("words").addEventListener("input", filter);
$("filters").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox") {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const acts = {
    j: () => step(1), ArrowRight: () => step(1), k: () => step(-1), ArrowLeft: () => step(-1),
    w: () => { $("wrong").checked = !$("wrong").checked; filter(); },
    d: () => { $("differ").checked = !$("differ").checked; filter(); },
    "/": () => $("words").focus(),
  };
  const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act) { event.preventDefault(); act(); }
});
filter();
