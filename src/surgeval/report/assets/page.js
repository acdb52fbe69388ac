"use strict";
/* Folding, sorting, saving, and pictures that come alive when somebody turns to them. Nothing here leaves the page. */
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
let engine = null;
const vega = () => (engine ??= inflated("engine").then((text) => {
  const script = document.createElement("script");
  script.textContent = text;
  document.head.append(script);
  return window.vegaEmbed;
}));

/* --- figures --- */
async function enliven(figure) {
  if (figure.dataset.state) return;
  figure.dataset.state = "waking";
  const picture = figure.querySelector(".picture");
  try {
    const [embed, contents] = await Promise.all([vega(), data()]);
    const stage = document.createElement("div");
    await embed(stage, contents.figures[figure.id].spec, { actions: false, renderer: "svg", ast: true, logLevel: 1, loader: { load: () => Promise.reject(new Error("no network")) } });
    picture.dataset.still = picture.innerHTML;
    picture.replaceChildren(stage);
    figure.dataset.state = "live";
  } catch (error) {
    figure.dataset.state = "still";
    console.warn("the picture stays still", error);
  }
}
for (const figure of all("figure.chart")) {
  for (const event of ["pointerenter", "focusin", "touchstart"]) {
    figure.addEventListener(event, () => enliven(figure), { once: true, passive: true });
  }
}

/* --- saving --- */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function svgText(figure) {
  const svg = figure.querySelector(".picture svg").cloneNode(true);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(svg);
}
function pngBlob(figure) {
  const svg = figure.querySelector(".picture svg");
  const box = svg.viewBox.baseVal;
  const width = box && box.width ? box.width : svg.clientWidth;
  const height = box && box.height ? box.height : svg.clientHeight;
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      const pen = canvas.getContext("2d");
      pen.fillStyle = "white";
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
  const text = cell.dataset.v;
  return text === undefined || text === "" ? null : Number(text);
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

/* --- folding --- */
const folds = () => all("main section > details");
byId("fold-all").addEventListener("click", () => folds().forEach((fold) => { fold.open = false; }));
byId("open-all").addEventListener("click", () => folds().forEach((fold) => { fold.open = true; }));
function reveal() {
  const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  const fold = target?.closest("details") ?? target?.querySelector(":scope > details");
  if (fold) fold.open = true;
}
window.addEventListener("hashchange", reveal);
reveal();
document.addEventListener("click", (event) => {
  if (event.target.closest("nav.contents a")) setTimeout(reveal);
});
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = all("details:not([open])").filter((fold) => !fold.closest(".tools"));
  folded.forEach((fold) => { fold.open = true; });
});
window.addEventListener("afterprint", () => folded.forEach((fold) => { fold.open = false; }));
