// The package as an app has it: node --test package.mjs, with SALLYPORT_PACKAGE, the path of the
// unpacked archive. `expo` and `react-native` are stand-ins.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { it } from "node:test";

const root = process.env.SALLYPORT_PACKAGE;
const calls = [];

function standIn(name, text) {
  const folder = `${root}/node_modules/${name}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, "{\"type\":\"module\",\"main\":\"index.js\"}");
  writeFileSync(`${folder}/index.js`, text);
}

standIn("react-native", `
  export const Platform = { get OS() { return globalThis.system; } };
  export const NativeModules = { get SallyportKeys() { return globalThis.nativeModule; } };
`);
standIn("expo", `
  export const requireOptionalNativeModule = (name) => globalThis.expoModules[name] ?? null;
`);
const { deviceParts, KeyError, AttestClient } = await import(`${root}/build/index.js`);

/** A native module that notes its calls, and answers with its name. */
function nativeModule(failures = {}) {
  return new Proxy({}, {
    get: (_, name) => async (...words) => {
      calls.push([name, ...words]);
      if (name in failures) throw Object.assign(new Error("native"), { code: failures[name] });
      return name === "create" ? ["key", "leaf", "root"] : name;
    },
  });
}

it("has the sources of every client that it needs", () => {
  const config = JSON.parse(readFileSync(`${root}/expo-module.config.json`));
  for (const path of [
    ...config.apple.podspecPath, "ios/SallyportExpo/SallyportModule.swift", "LICENSE",
    "ios/SallyportClient/AppAttestClient.swift", "android/build.gradle",
    "android/src/main/java/dev/sallyport/expo/SallyportModule.java",
    "android/client/dev/sallyport/client/TextKeys.java", "app.plugin.js",
    "react-native.config.js", "build/index.d.ts", "node_modules/sallyport-client/build/index.d.ts",
  ]) assert.ok(existsSync(`${root}/${path}`), path);
});

it("calls the module of Expo on Apple's platforms", async () => {
  globalThis.system = "ios";
  globalThis.expoModules = {
    SallyportKeys: nativeModule({ attestKey: "transient:serverUnavailable", generateKey: "E" }),
  };
  const { keys, store, tickets } = await deviceParts("https://a");
  calls.length = 0;
  assert.equal(keys.platform, "apple");
  assert.equal(await keys.generateAssertion("k", "{}"), "generateAssertion");
  await store.save("state");
  assert.equal(await tickets.load(), "loadTicket");
  assert.deepEqual(calls, [
    ["generateAssertion", "k", "{}"], ["saveState", "https://a", "state"],
    ["loadTicket", "https://a"],
  ]);
  const failures = [["attestKey", "transient", "serverUnavailable"], ["generateKey", "unknown"]];
  for (const [name, kind, code = "other"] of failures) {
    await assert.rejects(keys[name]("k", "c"), (error) => {
      return error instanceof KeyError && error.kind === kind && error.code === code;
    });
  }
});

it("calls the module of React Native on Android", async () => {
  globalThis.system = "android";
  globalThis.nativeModule = nativeModule({ sign: "lost:keyMissing" });
  const parts = await deviceParts("https://a");
  assert.equal(parts.keys.platform, "android");
  assert.deepEqual(await parts.keys.create("alias", "AQ=="), {
    keyId: "key", chain: ["leaf", "root"],
  });
  await assert.rejects(parts.keys.sign("alias", "{}"), { kind: "lost", code: "keyMissing" });
  await parts.keys.delete("alias");
  assert.deepEqual(calls.at(-1), ["deleteKey", "alias"]);
  assert.equal(await new AttestClient({ gateway: "https://a" }, parts).keyId(), null);
});

it("says so if the native module is missing", async () => {
  globalThis.system = "ios";
  globalThis.expoModules = {};
  await assert.rejects(deviceParts("https://a"), /native module SallyportKeys is missing/);
});
