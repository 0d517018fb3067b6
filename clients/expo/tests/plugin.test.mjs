import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { it } from "node:test";

const require = createRequire(import.meta.url);
const ENTITLEMENT = "com.apple.developer.devicecheck.appattest-environment";

/** Applies the plugins of an app's configuration, as Expo does. */
function configured(app) {
  return (app.plugins ?? []).reduce((config, entry) => {
    const [name, options] = Array.isArray(entry) ? entry : [entry];
    assert.equal(name, "sallyport-expo");
    return require("../app.plugin.js")(config, options);
  }, app);
}

function sample() {
  return JSON.parse(readFileSync(new URL("app.json", import.meta.url))).expo;
}

it("adds the entitlement to a whole app.json, and changes nothing else", () => {
  const app = sample();
  const { ios, ...rest } = configured(app);
  const { ios: before, ...others } = sample();
  assert.deepEqual(rest, others);
  assert.deepEqual(ios, {
    ...before,
    entitlements: { ...before.entitlements, [ENTITLEMENT]: "development" },
  });
  assert.deepEqual(app, sample(), "the given configuration stays as it is");
});

it("does what the page for React Native says", () => {
  const path = new URL("../../../docs/client/react-native.md", import.meta.url);
  const page = readFileSync(path, "utf8");
  const [, block] = /```json\n([^]*?)```/.exec(page);
  const { ios } = configured(JSON.parse(block).expo);
  assert.equal(ios.entitlements[ENTITLEMENT], "development");
  const { name, version } = require("../package.json");
  assert.ok(page.includes(`npm install ./${name}-${version}.tgz`));
  assert.ok(page.includes("/clients/expo/pack.sh ."));
});

it("takes production keys unless it is told otherwise", () => {
  const plugins = ["sallyport-expo"];
  assert.equal(configured({ plugins }).ios.entitlements[ENTITLEMENT], "production");
  const ios = { entitlements: { [ENTITLEMENT]: "development" } };
  assert.equal(configured({ plugins, ios }).ios.entitlements[ENTITLEMENT], "development");
});

it("refuses another environment than Apple's, and one that contradicts app.json", () => {
  const plugins = [["sallyport-expo", { environment: "staging" }]];
  assert.throws(() => configured({ plugins }), /development or production/);
  const ios = { entitlements: { [ENTITLEMENT]: "production" } };
  const other = [["sallyport-expo", { environment: "development" }]];
  assert.throws(() => configured({ plugins: other, ios }), /already says/);
});
