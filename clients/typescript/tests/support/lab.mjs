import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Keys in files of `sallyport-lab`. */
class Lab {
  count = 0;
  #fileCount = 0;

  /** @param root The file of `sallyport-lab root`. */
  constructor(lab, files, root, app) {
    this.lab = lab;
    this.files = files;
    this.root = root;
    this.app = app;
  }

  isSupported() {
    return true;
  }

  async run(...words) {
    return (await run(this.lab, words)).stdout;
  }

  /** A name that no other call has. */
  file(kind) {
    return `${this.files}.${++this.#fileCount}.${kind}`;
  }

  async written(contents) {
    const path = this.file("input");
    await writeFile(path, contents);
    return path;
  }

  async mint(kind, device, ...words) {
    const out = this.file(kind);
    await this.run("mint", kind, "--device", device, "--out", out, ...words);
    return readFile(out);
  }
}

/** One of Apple's devices that `sallyport-lab` simulates. */
export class LabDevice extends Lab {
  platform = "apple";
  #devices = new Map();

  async generateKey() {
    this.count++;
    const device = this.file("device");
    const keyId = (await this.run("device", "new", "--state", device, "--app", this.app)).trim();
    this.#devices.set(keyId, device);
    return keyId;
  }

  #hash(text) {
    return createHash("sha256").update(text).digest("hex");
  }

  async attestKey(keyId, challenge) {
    const words = ["--client-data-hash", this.#hash(challenge), "--apple", this.root];
    return (await this.mint("attestation", this.#devices.get(keyId), ...words)).toString("base64");
  }

  async generateAssertion(keyId, clientData) {
    const words = ["--client-data-hash", this.#hash(clientData)];
    return (await this.mint("assertion", this.#devices.get(keyId), ...words)).toString("base64");
  }
}

/** An Android phone that `sallyport-lab` simulates. */
export class LabPhone extends Lab {
  platform = "android";
  #phones = new Map();

  async create(alias, challenge) {
    this.count++;
    const phone = this.file("phone");
    const [name, digest] = this.app.split("=");
    const keyId = (await this.run(
      "device", "new", "--platform", "android", "--state", phone, "--app", name,
      "--signing-digest", digest,
    )).trim();
    const input = await this.written(Buffer.from(challenge, "base64"));
    const chain = await this.mint(
      "android-attestation", phone, "--google", this.root, "--challenge-file", input,
    );
    this.#phones.set(alias, phone);
    return { keyId, chain: JSON.parse(chain) };
  }

  async sign(alias, clientData) {
    const input = await this.written(clientData);
    const words = ["--client-data-file", input];
    return (await this.mint("android-signature", this.#phones.get(alias), ...words))
      .toString("base64");
  }

  async delete(alias) {
    this.#phones.delete(alias);
  }
}

/** The device of a platform, by the arguments that tests get. */
export function labKeys(platform, lab, files, root, app) {
  return platform === "apple"
    ? new LabDevice(lab, files, root, app) : new LabPhone(lab, files, root, app);
}
