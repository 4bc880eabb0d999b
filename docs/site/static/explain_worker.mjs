// Python off the page's own thread: it loads on the first message, then answers bytes with JSON.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function load() {
  const [pyodide, archive] = await Promise.all([
    loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href }),
    fetch(new URL("./explain.zip", import.meta.url)).then((answer) => {
      if (!answer.ok) throw new Error(`explain.zip: ${answer.status}`);
      return answer.arrayBuffer();
    }),
  ]);
  pyodide.unpackArchive(archive, "zip");
  const { answer } = pyodide.pyimport("course_utils.explain.browser");
  return (bytes) => JSON.parse(answer(pyodide.toPy(bytes)));
}

// Of a WebAssembly that cannot be fetched Pyodide tells nobody: its own promise stays open.
const ready = new Promise((resolve, reject) => {
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    reject(event.reason);
  });
  load().then(resolve, reject);
});

// The command's own function; what it raises is a fault of the course and is shown as such.
async function answer({ id, bytes }) {
  let explain;
  try {
    explain = await ready;
  } catch (error) {
    return { id, failed: "loading", why: String(error.message ?? error) };
  }
  postMessage({ id, began: true });
  try {
    return { id, ...explain(bytes) };
  } catch (error) {
    return { id, failed: "answering", why: String(error.message ?? error) };
  }
}

onmessage = async ({ data }) => postMessage(await answer(data));
