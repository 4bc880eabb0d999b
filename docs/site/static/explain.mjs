// The page on which a log is pasted. It shows what the worker answers, and keeps links to answers.
const MAX_BYTES = 64 * 1024 * 1024;
const find = (name) => document.getElementById(`explain-${name}`);
const app = document.getElementById("explain");
const [form, paste, file] = [app.querySelector("form"), find("paste"), find("file")];
const say = (text) => { find("status").textContent = text; };

let worker = null;
let asked = 0;

function start() {
  worker = new Worker(new URL("./explain_worker.mjs", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => { if (data.id === asked) show(data); };
  worker.onerror = (event) => show({ failed: "loading", why: event.message ?? "no answer" });
}

// From here on, an earlier question's answer is neither left standing nor shown late.
function begin() {
  asked += 1;
  find("result").hidden = true;
  find("text").hidden = false;
  if (location.hash.startsWith("#found=")) history.replaceState(null, "", location.pathname);
}

function ask(bytes) {
  if (!worker) start();
  say("Loading Python: 13 MB, once.");
  worker.postMessage({ id: asked, bytes });
}

function show(answer) {
  if (answer.began) return say("Reading.");
  if (answer.failed) return fail(answer);
  find("text").textContent = answer.text;
  find("picture").innerHTML = answer.picture; // drawn by our own code, its words escaped
  find("picture").hidden = !answer.picture;
  find("heading").textContent = "What it points to";
  readOn(answer.keys);
  say("Done.");
  reveal();
}

function fail({ failed, why }) {
  worker?.terminate(); // the next question gets a new one
  worker = null;
  if (failed === "loading") {
    say(`Python could not be loaded (${why}). The list of symptoms works without it, and so does `
      + "course explain on your machine.");
  } else {
    say(`The program stopped (${why.trim().split("\n").at(-1)}). That is a fault of this page, `
      + "not of your log: please report it.");
  }
}

function reveal() {
  find("result").hidden = false;
  find("heading").focus();
}

// The items of the plain list below, which say the same without a log.
function readOn(keys) {
  const items = keys.map((key) => document.querySelector(`article a[href="symptoms/${key}.html"]`));
  const known = items.filter((link) => link).map((link) => link.closest("li").cloneNode(true));
  find("links").replaceChildren(...known);
  find("more").hidden = known.length === 0;
  find("link").href = `#found=${keys.join(",")}`;
  return known.length;
}

function showKept() {
  const kept = /^#found=([a-z0-9_,]+)$/.exec(location.hash);
  if (!kept) return;
  find("text").hidden = find("picture").hidden = true;
  if (readOn(kept[1].split(","))) {
    find("heading").textContent = "The answer that this link keeps";
    say("The log itself is not in the link.");
    reveal();
  } else {
    find("result").hidden = true;
    say("This link names no answer that this page knows. Look in the list of symptoms.");
  }
}

function askFile(chosen) {
  if (!chosen) return;
  begin();
  if (chosen.size > MAX_BYTES) {
    say(`${chosen.name} has ${Math.round(chosen.size / 1048576)} MB, and this page reads up to `
      + `${MAX_BYTES / 1048576}: run course explain on your machine, or paste the last lines.`);
    return;
  }
  chosen.arrayBuffer().then((buffer) => ask(new Uint8Array(buffer)),
    () => say(`${chosen.name} cannot be read: choose one file, not a folder.`));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!paste.value.trim()) {
    say("There is nothing to read yet: paste some lines of a log, an error, or an exit code.");
    paste.focus();
    return;
  }
  begin();
  ask(new TextEncoder().encode(paste.value));
});
find("example").addEventListener("click", () => {
  paste.value = JSON.parse(find("sample").textContent);
  form.requestSubmit();
});
file.addEventListener("change", () => { askFile(file.files[0]); file.value = ""; });
app.addEventListener("dragover", (event) => event.preventDefault());
app.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return; // dropped text goes into the field
  event.preventDefault();
  askFile(event.dataTransfer.files[0]);
});
find("copy").addEventListener("click", () => navigator.clipboard.writeText(find("link").href)
  .then(() => say("The link is copied."), () => say("Copy the link from the address below.")));
addEventListener("hashchange", showKept);
app.hidden = app.dataset.packages !== "true"; // built without Python, the page only lists
showKept();
