"use strict";
const MOST_MIB = 64;
const $ = (name) => document.getElementById(name);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const ROLES = {
  unit: ["Patient or video", "what is independent"],
  case: ["Case: frame, image, question", "alike within its patient; patients count"],
  model: ["Model", "who is compared"],
  score: ["Score", "a metric of every model"],
  "model scores": ["Model, a column of its scores", "one of the models"],
  repeat: ["Repeat: seed, run", "averaged first, its spread is reported"],
  condition: ["Condition: organ, class, centre", "results are also given for each"],
  part: ["Part of a case", "counts alike within its patient"],
  metric: ["Metric", "what was measured"],
  "prefix:1": ["Patient, in the first part of its names", "what is independent"],
  "prefix:2": ["Patient, in the first two parts of its names", "what is independent"],
  out: ["Leave out", "the others stay"],
  "": ["As surgvalid reads it", "nothing is said about it"],
};
/* By role, what it is called, with what a role means when a column is offered it. */
const HERE = [[/; say it with better=.*/gs, "; say it under Better are."], [" (--unit)", ""], [": --margin.", ": say it under Matters from."], ["with --unit COLUMN", "by its role"], ["with --unit prefix:N, or --unit case", "by the role of its names, or that rows are independent"]];
const CHOICES = ["metric", "better", "against", "missing", "decimal", "sheet"];
let shown = null;
let file = "";
let turn = 0;

async function send(place, body) {
  const mine = ++turn;
  document.body.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(place, { method: "POST", body });
    if (!reply.ok) throw new Error(await reply.text());
    const here = (text) => HERE.reduce((said, [option, words]) => said.replaceAll(option, words), text);
    const made = JSON.parse(await reply.text(), (key, one) => (typeof one === "string" && key !== "command" ? here(one) : one));
    return mine === turn ? made : null;
  } catch (error) {
    refuse(`The program gave no answer (${error.message}). It was ended, or this table ended the reading: start surgvalid study again.`);
    return null;
  } finally {
    document.body.removeAttribute("aria-busy");
  }
}

function refuse(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

async function give(given) {
  if (!given) return;
  if (given.size > MOST_MIB << 20) {
    refuse(`${given.name} is larger than ${MOST_MIB} MiB: read it with surgvalid study FILE.`);
    return;
  }
  file = given.name;
  show(await send(`table/${encodeURIComponent(given.name)}`, given));
}

async function ask(asked) {
  if (file) show(await send("read", JSON.stringify({ asked })));
}

function show(made) {
  if (!made) return;
  shown = made;
  $("heading").textContent = "Is this how your table is meant?";
  $("lead").textContent = "Every column was read as follows. Press a role to correct it; the verdict follows.";
  $("name").textContent = made.name;
  $("size").textContent = made.columns ? `${made.height.toLocaleString("en")} rows, ${made.columns.length} columns` : "";
  refuse(made.problem || "");
  table(made);
  listed("readings", (made.readings || []).map(([, , text]) => `${capital(text)}.`));
  const noticed = (note) => (made.findings || []).filter(([kind]) => (kind === "note") === note).map(([, text]) => text);
  const whole = made.readings && !made.readings.some(([code]) => code === "missing" || code === "shared");
  listed("found", noticed(false).map((text) => `Found: ${text}`));
  listed("passed", [...(whole ? ["Passed: every case has a score of every model, and no score lies outside its range."] : []), ...noticed(true)]);
  $("checks").hidden = !made.readings;
  options(made);
  $("verdict").hidden = false;
  verdict(made);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function listed(name, texts) {
  $(name).replaceChildren(...texts.map((text) => make("li", text)));
  $(name).hidden = !texts.length;
}

function spoken(card, made) {
  if (card.role === null) return { title: "Row by row", detail: "see how the table was read", waits: false };
  const one = card.role || "";
  const values = { unit: `${card.count.toLocaleString("en")}; what is independent`, case: `${card.count.toLocaleString("en")} names`, "model scores": "a column of its scores", repeat: `${card.names}; averaged first`, score: card.better ? `${card.better} is better` : "nobody says which values are better" };
  const titles = { unit: capital(made.unit || "row"), case: `${capital(card.column)}, within the ${made.unit || "table"}`, score: "Score", "model scores": "Model", repeat: "Repeat", condition: "Condition" };
  return { waits: Boolean(card.waits) || (one === "score" && !card.better), title: titles[one] || (ROLES[one] && one ? ROLES[one][0] : "Not used"), detail: card.waits || values[one] || (one ? card.names : "") };
}

function table(made) {
  $("table").hidden = !made.columns;
  if (!made.columns) return;
  const cards = made.cards ? made.cards.map((card) => ({ ...card, ...spoken(card, made) })) : made.columns.map((column) => ({ column, detail: "" }));
  const roles = make("tr");
  const names = make("tr");
  for (const card of cards) {
    const kind = card.waits ? "role waits" : card.title ? "role" : "role unread";
    const button = make("button", undefined, kind);
    button.type = "button";
    button.dataset.column = card.column;
    button.setAttribute("aria-haspopup", "dialog");
    button.append(make("b", card.title || "Say what it is"), card.detail, make("span", `${card.waits ? "; to be confirmed" : ""}; column ${card.column}`, "unseen"));
    button.addEventListener("click", () => offers(card.column, button));
    const head = make("td");
    head.append(button);
    roles.append(head);
    const name = make("th", card.column);
    name.scope = "col";
    names.append(name);
  }
  const head = make("thead");
  head.append(roles, names);
  const body = make("tbody");
  for (const cells of made.rows) {
    const row = make("tr");
    row.append(...cells.map((text) => make("td", text)));
    body.append(row);
  }
  if (made.height > made.rows.length) {
    const row = make("tr");
    const cell = make("td", `${(made.height - made.rows.length).toLocaleString("en")} more rows`, "rest");
    cell.colSpan = cards.length;
    row.append(cell);
    body.append(row);
  }
  const whole = make("table");
  whole.append(head, body);
  $("table").replaceChildren(whole);
}

async function offers(column, button) {
  const made = await send("offers", JSON.stringify({ asked: shown.asked, column }));
  if (!made) return;
  const role = ((shown.cards || []).find((card) => card.column === column) || {}).role;
  const same = JSON.stringify(shown.asked);
  $("asked").textContent = `What is ${column}?`;
  $("ways").replaceChildren(...made.filter((offer) => offer.role || JSON.stringify(offer.asked) !== same).map((offer) => {
    const way = make("button");
    way.type = "button";
    if (offer.role && offer.role === role) way.setAttribute("aria-current", "true");
    way.append(make("b", ROLES[offer.role][0]), offer.change || ROLES[offer.role][1]);
    way.addEventListener("click", async () => {
      $("offers").close();
      await ask(offer.asked);
      const again = [...document.querySelectorAll("button.role")].find((one) => one.dataset.column === column);
      if (again) again.focus();
    });
    return way;
  }));
  $("offers").showModal();
  const place = button.getBoundingClientRect();
  const wide = window.innerWidth > 700;
  const box = $("offers").getBoundingClientRect();
  const style = $("offers").style;
  style.margin = wide ? "0" : "";
  style.left = wide ? `${Math.max(16, Math.min(place.left, window.innerWidth - box.width - 16))}px` : "";
  style.top = wide ? `${Math.max(16, Math.min(place.bottom + 6, window.innerHeight - box.height - 16))}px` : "";
  ($("ways").querySelector("[aria-current]") || $("ways").firstElementChild).focus();
}

function choices(name, values, first) {
  const kept = first ? [$(name).options[0]] : [];
  $(name).replaceChildren(...kept, ...values.map((value) => { const one = make("option", value); one.value = value; return one; }));
}

function options(made) {
  choices("metric", made.metrics || [], false);
  choices("against", made.models || [], true);
  choices("sheet", made.sheets || [], true);
  for (const name of CHOICES) $(name).value = made.asked[name] || "";
  $("metric").value = made.metric || "";
  $("margin").value = made.asked.margin === undefined ? "" : String(made.asked.margin);
  const stated = (made.asked.columns || {}).video;
  $("each").value = stated === "case" ? "case" : "";
  const row = (name, needed) => { $(name).parentElement.hidden = !needed; };
  row("metric", (made.metrics || []).length > 1);
  row("against", (made.models || []).length > 2);
  row("sheet", (made.sheets || []).length > 1);
  row("decimal", made.asked.decimal || /--decimal/.test(made.problem || ""));
  row("missing", made.asked.missing || /--missing/.test(made.problem || ""));
  row("each", made.readings && (made.unit === "" || stated === "case"));
  $("options").hidden = !made.readings && !(made.sheets || []).length && !made.problem;
}

function verdict(made) {
  $("result").hidden = $("rest").hidden = !made.title;
  $("live").textContent = made.title || made.problem || "";
  if (!made.title) return;
  $("title").textContent = made.title;
  $("first").textContent = made.sentences[0];
  listed("sentences", made.sentences.slice(1));
  $("evidence").textContent = made.evidence;
  const drawn = made.figure && new DOMParser().parseFromString(made.figure.inline, "text/html").body.firstElementChild;
  $("figure").replaceChildren(...(drawn ? [drawn] : []));
  $("caption").textContent = made.figure ? made.figure.caption : "";
  for (const name of ["methods", "latex", "command"]) $(name).textContent = made[name];
  $("again").hidden = !made.command;
  $("unwritten").hidden = Boolean(made.command);
}

function changed() {
  const asked = { ...shown.asked };
  for (const name of CHOICES) {
    if ($(name).value) asked[name] = $(name).value;
    else delete asked[name];
  }
  if ((shown.metrics || []).length < 2) delete asked.metric;
  const margin = $("margin").value.trim().replace(",", ".");
  delete asked.margin;
  if (margin && Number.isFinite(Number(margin))) asked.margin = Number(margin);
  const columns = { ...asked.columns };
  if ($("each").value) columns.video = "case";
  else if (columns.video === "case") delete columns.video;
  ask({ ...asked, columns });
}

async function copy(button) {
  const name = button.dataset.copy;
  const text = name === "image" ? shown.figure && shown.figure.file : $(name).textContent;
  try {
    await navigator.clipboard.writeText(text || "");
    $("live").textContent = "Copied";
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } catch {
    if (name !== "image") getSelection().selectAllChildren($(name));
    $("live").textContent = "This browser copies nothing by itself: the text is selected";
  }
}

$("file").addEventListener("change", () => give($("file").files[0]));
$("options").addEventListener("change", changed);
$("options").addEventListener("submit", (event) => event.preventDefault());
$("close").addEventListener("click", () => $("offers").close());
document.addEventListener("dragover", (event) => { event.preventDefault(); $("drop").className = "over"; });
document.addEventListener("dragleave", () => { $("drop").className = ""; });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").className = "";
  give(event.dataTransfer.files[0]);
});
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button));
$("save").addEventListener("click", () => {
  if (!shown.figure) return;
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([shown.figure.file], { type: "image/svg+xml" }));
  link.download = "study.svg";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
