"use strict";
const $ = (name) => document.getElementById(name);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const clock = (s) => [s / 3600, (s / 60) % 60, s % 60].map((n) => String(Math.floor(n)).padStart(2, "0")).join(":");
const WORDS = {
  approved: "confirmed", objected: "objected to", upheld: "upheld", changed: "corrected", withdrawn: "withdrew",
  unsure: "could not tell from the image", undone: "took back the verdict on",
};
const FRAME_S = 0.04;
let all = [];
let history = [];
let work = null;
let at = 0;
let pending = "";
let busy = false;
let drawn = 0;
let marked = [];

const deciding = () => work.role === "adjudicator";
const item = () => work.items[at];
const waits = (one) => one.mine === null;

async function load() {
  const reply = await fetch("work.json");
  if (!reply.ok) throw new Error("the server does not answer");
  work = await reply.json();
  all = work.items;
  if (!$("pick").options.length) choices();
  for (const [name, values] of Object.entries(work.writable)) $(name).replaceChildren(...values.map((value) => make("option", value)));
  picked();
  document.title = `${deciding() ? "Adjudication" : "Review"}: ${work.who}`;
  $("title").textContent = document.title;
  label($("approve"), deciding() ? "Let it stand" : "Confirm", "A");
  label($("correct"), "Correct", "C");
  label($("object"), "Object", "O");
  label($("unsure"), "Cannot tell", "T");
  label($("withdraw"), "Withdraw", "W");
  label($("undo"), "Undo", "U");
  for (const name of ["object", "open", "unsure", "withdraw", "undo", "pick-label"]) $(name).hidden = deciding();
  $("sample").parentElement.hidden = deciding();
  const say = deciding() ? "A lets it stand, C corrects" : "1 to 9 answer, A confirms, C corrects, O objects, T cannot tell, W withdraws, U undoes";
  const on = deciding() ? "" : ", G goes on to the next open one";
  $("keys").textContent = `Keys: ${say}; left and right move${on}, Space plays, M marks a moment, N writes a question.`;
  overview();
  show();
}

function choices() {
  const kinds = {};
  for (const one of all) for (const [kind, value] of Object.entries(one.kinds || {})) (kinds[kind] ||= new Set()).add(value);
  const add = (value, text) => { const option = make("option", text); option.value = value; $("pick").append(option); };
  add("", "all");
  add("open", "those that wait");
  add("objected", "objections");
  for (const [kind, values] of Object.entries(kinds)) if (values.size > 1) for (const value of [...values].sort()) add(`${kind}\n${value}`, `${kind}: ${value}`);
}

/* The same sample for everybody: items in the order of a hash of their names. */
const mixed = (name) => [...name].reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 16777619) >>> 0, 2166136261);

function picked() {
  const [kind, value] = $("pick").value.split("\n");
  const most = parseInt($("sample").value, 10);
  let items = all;
  if (kind === "open") items = items.filter(waits);
  else if (kind === "objected") items = items.filter((one) => one.mine && one.mine.action === "objected");
  else if (kind) items = items.filter((one) => one.kinds[kind] === value);
  if (most > 0) {
    const counts = {};
    const first = [...items].sort((a, b) => mixed(a.item) - mixed(b.item));
    const drawn = new Set(first.filter((one) => { const t = one.kinds.template; counts[t] = (counts[t] || 0) + 1; return counts[t] <= most; }));
    items = items.filter((one) => drawn.has(one));
  }
  work.items = items;
  at = Math.max(0, items.findIndex(waits));
}

function label(button, text, key) {
  button.replaceChildren(text, " ", make("kbd", key));
}

function show() {
  const none = work.items.length === 0;
  $("main").hidden = none;
  $("empty").hidden = !none;
  $("empty").firstElementChild.textContent = deciding() ? "Nothing is in dispute." : "Nothing is to be reviewed.";
  counts();
  if (none) return;
  const one = item();
  closeForm();
  marked = [];
  $("problem").textContent = "";
  $("place").textContent = `${one.video} · ${span(one)}`;
  $("question").textContent = one.question;
  $("answer").textContent = one.answer ?? "";
  $("note").textContent = one.note;
  $("given").textContent = one.given ? `You answered: ${one.given}` : "";
  $("blind").hidden = !one.hidden;
  $("known").hidden = Boolean(one.hidden);
  for (const name of ["approve", "correct", "object"]) $(name).disabled = Boolean(one.hidden);
  $("undo").disabled = !one.mine && history.length === 0;
  blind(one);
  const single = one.window[0] === one.window[1];
  document.body.classList.toggle("single", single);
  $("clip").open = !single;
  $("back").disabled = at === 0;
  $("next").disabled = at === work.items.length - 1;
  mine(one);
  said(one);
  film(one);
  frames(one);
}

const span = (one) => {
  const [start, end] = one.window;
  return one.still ? "image" : start === end ? `frame at ${clock(start)}` : `${clock(start)} to ${clock(end)}`;
};

function counts() {
  const total = work.items.length;
  const done = work.items.filter((one) => !waits(one)).length;
  const objected = work.items.filter((one) => one.mine && one.mine.action === "objected").length;
  $("counts").textContent = total === 0 ? "" : deciding()
    ? `${at + 1} of ${total} in dispute`
    : `${at + 1} of ${total} · ${done} rated, ${objected} with an objection`;
  $("bar").hidden = deciding();
  $("bar").max = Math.max(total, 1);
  $("bar").value = done;
}

function mine(one) {
  const verdict = one.mine;
  const more = verdict ? [verdict.answer && `right answer: ${verdict.answer}`, verdict.note].filter(Boolean).join("; ") : "";
  $("mine").textContent = verdict ? `You ${WORDS[verdict.action]} this${more ? ` (${more})` : ""}.` : "";
  const pressed = { approve: "approved", correct: "", object: "" };
  if (verdict && verdict.action === "objected") pressed[verdict.answer ? "correct" : "object"] = "objected";
  for (const [name, action] of Object.entries(pressed))
    $(name).setAttribute("aria-pressed", String(Boolean(verdict && action && verdict.action === action)));
}

function blind(one) {
  $("options").replaceChildren();
  $("guess").value = "";
  const listed = one.options || [];
  $("guess-field").hidden = $("send").hidden = listed.length > 0;
  listed.forEach((option, place) => {
    const button = make("button");
    label(button, option, String(place + 1));
    button.type = "button";
    button.addEventListener("click", () => answer(option));
    $("options").append(button);
  });
}

async function answer(text) {
  if (busy) return;
  busy = true;
  const one = item();
  try {
    const body = JSON.stringify({ item: one.item, answer: text });
    const reply = await fetch("answer", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const result = await reply.json();
    if (!reply.ok) { $("problem").textContent = result.problem; return; }
    Object.assign(one, result, { hidden: false, mine: one.mine });
    $("live").textContent = `The reference is ${one.answer}`;
    if (document.activeElement && $("blind").contains(document.activeElement)) document.activeElement.blur();
    show();
  } catch {
    $("problem").textContent = "Not kept: the server does not answer. Is it still running?";
  } finally {
    busy = false;
  }
}

function undo() {
  const last = item().mine ? item() : history.at(-1);
  if (!last) return;
  go(work.items.indexOf(last));
  keep("undone", "", "");
}

function said(one) {
  $("said").replaceChildren();
  if (!one.said) return;
  const list = make("ul");
  one.said.forEach((verdict, number) => {
    const more = [verdict.answer && `right answer: ${verdict.answer}`, verdict.note].filter(Boolean).join("; ");
    list.append(make("li", `Rater ${number + 1} ${WORDS[verdict.action]}${more ? `: ${more}` : ""}`));
  });
  $("said").append(make("p", "What the raters said", "label"), list);
}

function film(one) {
  $("film").replaceChildren();
  $("marks").replaceChildren();
  $("clip").hidden = one.still;
  if (one.still) return;
  if (one.film === null) {
    $("film").append(make("p", `No video file or image of ${one.video} lies in the folder; give its path with --videos.`));
    return;
  }
  const player = make("video");
  const [start, end] = one.stretch;
  Object.assign(player, { controls: true, preload: "metadata", muted: true, playsInline: true });
  player.src = `film/${one.film}#t=${start},${end + 1}`;
  const asked = one.window[0] === one.window[1] ? one.window[0] : start;
  player.addEventListener("loadedmetadata", () => { player.currentTime = Math.min(asked, player.duration || asked); });
  player.playbackRate = Number($("speed").value);
  player.addEventListener("timeupdate", () => { $("now").textContent = clock(player.currentTime); });
  player.addEventListener("timeupdate", () => { if (player.currentTime > end + 1 && !player.paused) player.pause(); });
  player.addEventListener("play", () => { if (player.currentTime > end + 0.9 || player.currentTime < start - 0.1) player.currentTime = start; });
  player.addEventListener("error", () => $("film").replaceChildren(make("p", "This browser cannot play the video; its frames are below.")));
  $("film").append(player);
  if (one.hidden) return;
  for (const second of one.moments) {
    const mark = make("button", clock(second));
    mark.type = "button";
    mark.style.left = `${(100 * (second - start)) / Math.max(end + 1 - start, 1)}%`;
    mark.addEventListener("click", () => jump(second));
    $("marks").append(mark);
  }
}

function jump(second) {
  const player = document.querySelector("video");
  if (!player) return;
  $("clip").open = true;
  player.pause();
  player.currentTime = second;
}

function step(by) {
  const player = document.querySelector("video");
  if (player) jump(Math.max(0, player.currentTime + by * FRAME_S));
}

function mark() {
  const player = document.querySelector("video");
  if (!player) return;
  marked.push(Math.floor(player.currentTime));
  $("now").textContent = `marked ${marked.map(clock).join(", ")}`;
  moments();
}

/* One mark is an image, several are a stretch from the first to the last, none is what the question on the page shows. */
function moments() {
  const seconds = marked.length ? [Math.min(...marked), Math.max(...marked)] : item().window;
  $("marked").textContent = [...new Set(seconds)].map(clock).join(" to ");
  return seconds;
}

function write() {
  closeForm();
  moments();
  $("write").hidden = false;
  document.body.classList.add("writing");
  $("write").scrollIntoView({ block: "center" });
  $("asked").focus();
}

async function add(event) {
  event.preventDefault();
  const told = { item: item().item, moments: moments(), question: $("asked").value, answer: $("told").value };
  for (const name of Object.keys(work.writable)) told[name] = $(name).value;
  try {
    const reply = await fetch("question", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(told) });
    const result = await reply.json();
    if (!reply.ok) { $("problem").textContent = result.problem; return; }
    closeForm();
    $("asked").value = $("told").value = $("problem").textContent = "";
    marked = [];
    $("live").textContent = $("now").textContent = `${result.written} is in the form`;
  } catch {
    $("problem").textContent = "Not kept: the server does not answer. Is it still running?";
  }
}

async function frames(one) {
  const place = $("frames");
  const turn = ++drawn;
  place.replaceChildren();
  place.className = one.moments.length === 1 ? "single" : "";
  let boxes = {};
  try {
    boxes = await (await fetch(`boxes/${one.number}`)).json();
  } catch { /* frames are shown without boxes */ }
  if (turn !== drawn) return;
  for (const second of one.moments) place.append(frame(one, second, boxes[second] || []));
}

function frame(one, second, boxes) {
  const figure = make("figure");
  const holder = make("div", undefined, "frame");
  if (one.film === null) holder.classList.add("missing");
  else {
    const picture = make("img");
    const seen = boxes.map((box) => box.class).join(", ") || "no object annotated";
    picture.alt = `${one.still ? "Image" : `Frame at ${clock(second)}`}${one.hidden ? "" : `: ${seen}`}`;
    picture.addEventListener("error", () => holder.classList.add("missing"));
    picture.addEventListener("load", () => holder.style.setProperty("--shape", picture.naturalWidth / picture.naturalHeight));
    picture.src = `frame/${one.film}/${second}.png`;
    holder.append(picture);
  }
  for (const box of [...boxes].sort((a, b) => a.shown - b.shown)) {
    const [x, y, width, height] = box.box;
    const mark = make("div", undefined, `box${box.shown ? " shown" : ""}${y < 0.08 ? " high" : ""}${x > 0.7 ? " right" : ""}`);
    Object.assign(mark.style, { left: `${100 * x}%`, top: `${100 * y}%`, width: `${100 * width}%`, height: `${100 * height}%` });
    if (box.shown) mark.append(make("span", box.instance));
    holder.append(mark);
  }
  const caption = make("figcaption");
  caption.append(make("span", one.still ? one.video : clock(second)));
  if (one.film !== null && !one.still) {
    const button = make("button", "Show in the video");
    button.type = "button";
    button.addEventListener("click", () => jump(second));
    caption.append(button);
  }
  figure.append(holder, caption);
  return figure;
}

function openForm(kind) {
  pending = kind;
  $("form").hidden = false;
  document.body.classList.add("writing");
  $("answer-field").hidden = kind !== "correct";
  $("right").value = kind === "correct" ? item().answer : "";
  $("reason").value = "";
  $("form").scrollIntoView({ block: "center" });
  (kind === "correct" ? $("right") : $("reason")).focus();
  if (kind === "correct") $("right").select();
}

function closeForm() {
  pending = "";
  /* A browser takes the focus off a hidden field only when it paints next; keys pressed before would go into the field. */
  for (const name of ["form", "write"]) {
    if ($(name).contains(document.activeElement)) document.activeElement.blur();
    $(name).hidden = true;
  }
  document.body.classList.remove("writing");
}

async function keep(action, answer, note) {
  if (busy || work.items.length === 0) return;
  busy = true;
  const one = item();
  try {
    const body = JSON.stringify({ item: one.item, action, answer, note });
    const reply = await fetch("verdict", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const result = await reply.json();
    if (!reply.ok) {
      $("problem").textContent = result.problem;
      return;
    }
    $("live").textContent = `${WORDS[action]}: ${one.question}`;
    if (deciding()) {
      const before = at;
      await load();
      at = Math.min(before, Math.max(0, work.items.length - 1));
      show();
      return;
    }
    if (action === "undone") {
      one.mine = null;
      history = history.filter((other) => other !== one);
      show();
      return;
    }
    one.mine = { action, answer, note };
    history.push(one);
    if (!nextOpen()) show();
  } catch {
    $("problem").textContent = "Not kept: the server does not answer. Is it still running?";
  } finally {
    busy = false;
  }
}

function nextOpen() {
  const order = [...work.items.keys()].map((step) => (at + 1 + step) % work.items.length);
  const open = order.find((place) => waits(work.items[place]));
  if (open === undefined) return false;
  go(open);
  return true;
}

function go(place) {
  if (place < 0 || place >= work.items.length) return;
  at = place;
  show();
  window.scrollTo({ top: 0 });
}

function overview() {
  $("overview").hidden = !deciding();
  if (!deciding()) return;
  const table = (heads, rows) => {
    const made = make("table");
    const line = (cells, tag) => {
      const row = make("tr");
      cells.forEach((cell, column) => row.append(make(tag, cell, column > 0 ? "n" : "")));
      return row;
    };
    made.append(line(heads, "th"), ...rows.map((row) => line(row, "td")));
    return made;
  };
  const { rated, states } = work.progress;
  const number = (value) => (value === null || value === undefined ? "" : value.toFixed(3));
  $("overview").replaceChildren(
    make("h2", "Progress"),
    table(["Rater", "Rated", "Of"], Object.values(rated).map((row, place) => [`Rater ${place + 1}`, ...row])),
    table(["State", "Items"], Object.entries(states).map(([name, count]) => [name, String(count)])),
    make("h2", "Agreement"),
    table(["Coefficient", "Value", "From", "To"], work.agreement.map((row) => [row.coefficient, number(row.value), number(row.low), number(row.high)])),
    make("p", work.remark),
    make("h2", "People"),
    make("p", "Right before the reference was shown: closed questions that nobody speaks against."),
    table(["Of", "Share", "From", "To", "Questions", "Raters"], work.people.map((row) => [row.level === "overall" ? "all" : row.level === "rater" ? row.name : `${row.level} ${row.name}`, number(row.accuracy), number(row.low), number(row.high), String(row.questions), String(row.raters)])),
  );
}

$("approve").addEventListener("click", () => keep(deciding() ? "upheld" : "approved", "", ""));
$("correct").addEventListener("click", () => openForm("correct"));
$("object").addEventListener("click", () => openForm("object"));
$("withdraw").addEventListener("click", () => openForm("withdraw"));
$("unsure").addEventListener("click", () => keep("unsure", "", ""));
$("undo").addEventListener("click", undo);
$("blind").addEventListener("submit", (event) => { event.preventDefault(); answer($("guess").value.trim()); });
$("pick").addEventListener("change", () => { picked(); show(); $("pick").blur(); });
$("sample").addEventListener("change", () => { picked(); show(); });
$("speed").addEventListener("change", () => { const player = document.querySelector("video"); if (player) player.playbackRate = Number($("speed").value); $("speed").blur(); });
$("earlier").addEventListener("click", () => step(-1));
$("later").addEventListener("click", () => step(1));
$("cancel").addEventListener("click", closeForm);
$("drop").addEventListener("click", closeForm);
$("mark").addEventListener("click", mark);
$("write").addEventListener("submit", add);
$("back").addEventListener("click", () => go(at - 1));
$("next").addEventListener("click", () => go(at + 1));
$("open").addEventListener("click", nextOpen);
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const answer = pending === "correct" ? $("right").value.trim() : "";
  keep(deciding() ? "changed" : pending === "withdraw" ? "withdrawn" : "objected", answer, $("reason").value.trim());
});
$("reason").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); $("form").requestSubmit(); }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { closeForm(); return; }
  const typing = event.target.matches("input, textarea, select");
  if (!work || typing || event.ctrlKey || event.metaKey || event.altKey || work.items.length === 0) return;
  const keys = {
    a: () => $("approve").click(), c: () => $("correct").click(), o: () => !deciding() && $("object").click(),
    w: () => !deciding() && openForm("withdraw"), t: () => !deciding() && keep("unsure", "", ""), u: () => !deciding() && undo(),
    m: mark, n: write, v: () => { $("clip").open = !$("clip").open; }, ",": () => step(-1), ".": () => step(1),
    g: nextOpen, ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1),
    " ": () => { const player = document.querySelector("video"); if (player) player.paused ? player.play() : player.pause(); },
  };
  const choices = item().hidden ? [...$("options").children] : [];
  if (choices[Number(event.key) - 1]) { event.preventDefault(); choices[Number(event.key) - 1].click(); return; }
  if (item().hidden && event.key === "Enter" && !choices.length) { event.preventDefault(); $("guess").focus(); return; }
  const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || (event.key === " " && event.target.matches("button, video"))) return;
  if (event.target.matches("video") && event.key.startsWith("Arrow")) return;
  event.preventDefault();
  action();
});
load().catch((error) => { $("empty").hidden = false; $("empty").firstElementChild.textContent = String(error.message); });
