// Lets the client play against `sallyport-lab trial`, on a simulated device:
//     node trial.mjs URL apple LAB FILES APPLE APP_ID
//     node trial.mjs URL android LAB FILES GOOGLE PACKAGE=DIGEST
// FILES: the first part of the names of the device's files. APPLE, GOOGLE: the file of
// `sallyport-lab root`. DIGEST: of the certificate that signs the Android app.
import { AttestClient, MemoryStore, TryLater } from "../build/index.js";
import { labKeys } from "./support/lab.mjs";

const COUNT_MAX = 200;

const [url, platform, ...device] = process.argv.slice(2);
const [keys, tickets] = [labKeys(platform, ...device), new MemoryStore()];
let store = new MemoryStore();
let client;

/** Starts the app, with what it has saved. */
function start() {
  client = new AttestClient({ gateway: url }, { keys, store, tickets });
}

async function isOver() {
  start();
  for (let number = 0; number < COUNT_MAX; number++) {
    try {
      const body = JSON.stringify({ n: number });
      const response = await client.fetch(`${url}/api/trial`, { method: "POST", body });
      await response.text();
      const word = response.headers.get("X-Trial");
      if (word === "over") return true;
      if (word === "reinstall") store = new MemoryStore();
      if (word === "restart" || word === "reinstall") start();
    } catch (error) {
      console.error(number, `${error}`);
      if (error instanceof TryLater) {
        const rest = Math.max(0, error.until - Date.now());
        await new Promise((resolve) => setTimeout(resolve, rest));
      }
    }
  }
  return false;
}

process.exitCode = (await isOver()) ? 0 : 1;
