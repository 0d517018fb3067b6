import type { AndroidKeys, AppleKeys, Keys, Parts } from "sallyport-client";
import { type AndroidModule, type AppleModule, mapped, nativeModule } from "./native.js";

export * from "sallyport-client";

/**
 * The device's own parts: App Attest and the keychain, or the Android Keystore, a file outside of
 * backups and preferences within.
 *
 * @param gateway The gateway's URL. One state and one ticket are kept for each.
 */
export async function deviceParts(gateway: string): Promise<Parts> {
  const native = nativeModule();
  const { module } = native;
  const keys: Keys =
    native.platform === "apple" ? appleKeys(native.module) : androidKeys(native.module);
  return {
    keys,
    store: {
      load: () => module.loadState(gateway),
      save: (text) => module.saveState(gateway, text),
    },
    tickets: {
      load: () => module.loadTicket(gateway),
      save: (text) => module.saveTicket(gateway, text),
    },
    app: await module.appInfo(),
  };
}

function appleKeys(module: AppleModule): AppleKeys {
  return {
    platform: "apple",
    isSupported: () => module.isSupported(),
    generateKey: () => mapped(module.generateKey()),
    attestKey: (keyId, challenge) => mapped(module.attestKey(keyId, challenge)),
    generateAssertion: (keyId, data) => mapped(module.generateAssertion(keyId, data)),
  };
}

function androidKeys(module: AndroidModule): AndroidKeys {
  return {
    platform: "android",
    isSupported: () => module.isSupported(),
    create: async (alias, challenge) => {
      const [keyId = "", ...chain] = await mapped(module.create(alias, challenge));
      return { keyId, chain };
    },
    sign: (alias, clientData) => mapped(module.sign(alias, clientData)),
    delete: (alias) => mapped(module.deleteKey(alias)),
  };
}
