// Sends an image archive in pieces: says its digest first, goes on where a cut connection stopped, then hands it in.
"use strict";
{
  const form = document.getElementById("upload");
  const SLICE = 4 << 20, TRIES = 8;
  const element = (name) => document.getElementById(`upload-${name}`);
  const say = (words, share) => {
    element("state").hidden = false;
    element("words").textContent = words;
    element("bar").hidden = share === undefined;
    if (share !== undefined) element("bar").value = share;
  };
  const pause = (ms) => new Promise((done) => window.setTimeout(done, ms));
  const size = (bytes) => (bytes >= 1 << 30 ? `${(bytes / (1 << 30)).toFixed(2)} GiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`);

  const ask = async (method, path, body, isJson = true) => {
    const headers = { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
    if (isJson && body) headers["Content-Type"] = "application/json";
    const answer = await fetch(form.dataset.api + path, { method, headers, body: isJson && body ? JSON.stringify(body) : body });
    const content = await answer.json().catch(() => ({ problem: `the service answered ${answer.status}` }));
    if (!answer.ok) throw Object.assign(new Error(`${content.problem} ${content.remedy || ""}`), { refused: answer.status < 500 });
    return content;
  };

  const digest = async (file) => {
    const hash = new Sha256();
    for (let at = 0; at < file.size; at += SLICE) {
      hash.update(new Uint8Array(await file.slice(at, at + SLICE).arrayBuffer()));
      say(`Reading ${file.name}: ${size(at)} of ${size(file.size)}`, at / file.size);
    }
    return hash.hex();
  };

  const send = async (file, name, phase) => {
    const announced = { phase, name, size_bytes: file.size, sha256: await digest(file) };
    const upload = await ask("POST", "uploads", announced);
    let at = upload.received_bytes, failed = 0;
    while (at < file.size) {
      say(`Sending ${file.name}: ${size(at)} of ${size(file.size)}`, at / file.size);
      const piece = file.slice(at, at + Math.min(SLICE, upload.piece_bytes));
      try {
        at = (await ask("PUT", `uploads/${upload.upload}?offset=${at}`, piece, false)).received_bytes;
        failed = 0;
      } catch (error) {
        failed += 1;
        if (failed > TRIES) throw error;
        say(`The connection was cut; trying again (${failed} of ${TRIES}).`, at / file.size);
        await pause(Math.min(30000, 500 * 2 ** failed));
        at = await ask("GET", `uploads/${upload.upload}`).then((one) => one.received_bytes, () => at);
      }
    }
    return upload.upload;
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button"), phase = form.elements.phase.value;
    const image = form.elements.image.files[0], description = form.elements.description?.files[0];
    button.disabled = true;
    try {
      const content = { phase, image: await send(image, "image.tar", phase) };
      if (description) content.description = await send(description, description.name, phase);
      if (form.elements.baseline) content.baseline = form.elements.baseline.value;
      say("Handing in");
      const made = await ask("POST", "submissions", content);
      window.location.assign(`${form.dataset.done}${made.submission}/`);
    } catch (error) {
      say(`Not handed in: ${error.message}`);
      button.disabled = false;
    }
  });
}
