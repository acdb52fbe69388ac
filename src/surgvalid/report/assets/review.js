"use strict";
const $ = (name) => document.getElementById(name);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const clock = (s) => [s / 3600, (s / 60) % 60, s % 60].map((n) => String(Math.floor(n)).padStart(2, "0")).join(":");
const WORDS = { approved: "confirmed", objected: "objected", upheld: "upheld", changed: "corrected" };
let work = null;
let at = 0;
let pending = "";
let busy = false;

const deciding = () => work.role === "adjudicator";
const item = () => work.items[at];
const waits = (one) => one.mine === null;

async function load() {
  const reply = await fetch("work.json");
  if (!reply.ok) throw new Error("the server does not answer");
  work = await reply.json();
  at = Math.max(0, work.items.findIndex(waits));
  document.title = `${deciding() ? "Adjudication" : "Review"}: ${work.who}`;
  $("title").textContent = document.title;
  label($("approve"), deciding() ? "Let it stand" : "Confirm", "A");
  label($("correct"), "Correct", "C");
  label($("object"), "Object", "O");
  $("object").hidden = deciding();
  $("open").hidden = deciding();
  const say = deciding() ? "A lets it stand, C corrects" : "A confirms, C corrects, O objects";
  const on = deciding() ? "" : ", G goes on to the next open one";
  $("keys").textContent = `Keys: ${say}; left and right move${on}, Space plays.`;
  overview();
  show();
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
  $("problem").textContent = "";
  $("place").textContent = `${one.video} · ${span(one)}`;
  $("question").textContent = one.question;
  $("answer").textContent = one.answer;
  $("note").textContent = one.note;
  $("back").disabled = at === 0;
  $("next").disabled = at === work.items.length - 1;
  mine(one);
  said(one);
  film(one);
  frames(one);
}

const span = (one) => {
  const [start, end] = one.window;
  return start === end ? `frame at ${clock(start)}` : `${clock(start)} to ${clock(end)}`;
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
  if (one.film === null) {
    $("film").append(make("p", `No video file of ${one.video} lies in the folder; give its path with --videos.`));
    return;
  }
  const player = make("video");
  const [start, end] = one.stretch;
  Object.assign(player, { controls: true, preload: "metadata", muted: true, playsInline: true });
  player.src = `film/${one.film}#t=${start},${end + 1}`;
  player.addEventListener("loadedmetadata", () => { player.currentTime = Math.min(start, player.duration || start); });
  player.addEventListener("timeupdate", () => { if (player.currentTime > end + 1 && !player.paused) player.pause(); });
  player.addEventListener("play", () => { if (player.currentTime > end + 0.9 || player.currentTime < start - 0.1) player.currentTime = start; });
  player.addEventListener("error", () => $("film").replaceChildren(make("p", "This browser cannot play the video; its frames are below.")));
  $("film").append(player);
}

async function frames(one) {
  const place = $("frames");
  place.replaceChildren();
  place.className = one.moments.length === 1 ? "single" : "";
  let boxes = {};
  try {
    boxes = await (await fetch(`boxes/${one.number}`)).json();
  } catch { /* frames are shown without boxes */ }
  if (one !== item()) return;
  for (const second of one.moments) place.append(frame(one, second, boxes[second] || []));
}

function frame(one, second, boxes) {
  const figure = make("figure");
  const holder = make("div", undefined, "frame");
  if (one.film === null) holder.classList.add("missing");
  else {
    const picture = make("img");
    picture.alt = `Frame at ${clock(second)}: ${boxes.map((box) => box.class).join(", ") || "no object annotated"}`;
    picture.addEventListener("error", () => holder.classList.add("missing"));
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
  caption.append(make("span", clock(second)));
  if (one.film !== null) {
    const jump = make("button", "Show in the video");
    jump.type = "button";
    jump.addEventListener("click", () => { const player = document.querySelector("video"); if (player) { player.pause(); player.currentTime = second; player.scrollIntoView({ block: "nearest" }); } });
    caption.append(jump);
  }
  figure.append(holder, caption);
  return figure;
}

function openForm(kind) {
  pending = kind;
  $("form").hidden = false;
  $("answer-field").hidden = kind === "object";
  $("right").value = kind === "correct" ? item().answer : "";
  $("reason").value = "";
  $("form").scrollIntoView({ block: "center" });
  (kind === "correct" ? $("right") : $("reason")).focus();
  if (kind === "correct") $("right").select();
}

function closeForm() {
  pending = "";
  /* A browser takes the focus off a hidden field only when it paints next; keys pressed before would go into the field. */
  if ($("form").contains(document.activeElement)) document.activeElement.blur();
  $("form").hidden = true;
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
    one.mine = { action, answer, note };
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
  const { items, rated, states } = work.progress;
  const number = (value) => (value === null || value === undefined ? "" : value.toFixed(3));
  $("overview").replaceChildren(
    make("h2", "Progress"),
    table(["Rater", "Rated", "Of"], Object.values(rated).map((count, place) => [`Rater ${place + 1}`, String(count), String(items)])),
    table(["State", "Items"], Object.entries(states).map(([name, count]) => [name, String(count)])),
    make("h2", "Agreement"),
    table(["Coefficient", "Value", "From", "To"], work.agreement.map((row) => [row.coefficient, number(row.value), number(row.low), number(row.high)])),
    make("p", work.remark),
  );
}

$("approve").addEventListener("click", () => keep(deciding() ? "upheld" : "approved", "", ""));
$("correct").addEventListener("click", () => openForm("correct"));
$("object").addEventListener("click", () => openForm("object"));
$("cancel").addEventListener("click", closeForm);
$("back").addEventListener("click", () => go(at - 1));
$("next").addEventListener("click", () => go(at + 1));
$("open").addEventListener("click", nextOpen);
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const answer = pending === "correct" ? $("right").value.trim() : "";
  keep(deciding() ? "changed" : "objected", answer, $("reason").value.trim());
});
$("reason").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); $("form").requestSubmit(); }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { closeForm(); return; }
  const typing = event.target.matches("input, textarea");
  if (!work || typing || event.ctrlKey || event.metaKey || event.altKey || work.items.length === 0) return;
  const keys = {
    a: () => $("approve").click(), c: () => openForm("correct"), o: () => !deciding() && openForm("object"),
    g: nextOpen, ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1),
    " ": () => { const player = document.querySelector("video"); if (player) player.paused ? player.play() : player.pause(); },
  };
  const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || (event.key === " " && event.target.matches("button, video"))) return;
  if (event.target.matches("video") && event.key.startsWith("Arrow")) return;
  event.preventDefault();
  action();
});
load().catch((error) => { $("empty").hidden = false; $("empty").firstElementChild.textContent = String(error.message); });
