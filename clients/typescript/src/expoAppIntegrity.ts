import { KeyError, type KeyFailure } from "./errors.js";
import type { AppleKeys } from "./ports.js";

/**
 * The part of `@expo/app-integrity` that App Attest needs, from version 0.2 on. The module hashes
 * the texts that it gets (SHA-256 of their UTF-8) and returns base64.
 */
export interface AppIntegrity {
  readonly isSupported: boolean;
  generateKeyAsync(): Promise<string>;
  attestKeyAsync(keyId: string, challenge: string): Promise<string>;
  generateAssertionAsync(keyId: string, challenge: string): Promise<string>;
}

/** The module's codes, each with the case of `DCError` that it stands for. */
const FAILURES: Readonly<Record<string, readonly [KeyFailure, string]>> = {
  ERR_APP_INTEGRITY_FEATURE_UNSUPPORTED: ["unsupported", "featureUnsupported"],
  ERR_APP_INTEGRITY_INVALID_INPUT: ["input", "invalidInput"],
  ERR_APP_INTEGRITY_INVALID_KEY: ["lost", "invalidKey"],
  ERR_APP_INTEGRITY_SERVER_UNAVAILABLE: ["transient", "serverUnavailable"],
  ERR_APP_INTEGRITY_SYSTEM_FAILURE: ["unknown", "unknownSystemFailure"],
};

async function mapped<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    const code = String((Object(error) as Record<string, unknown>)["code"]);
    const [kind, name] = FAILURES[code] ?? ["unknown", "other"];
    throw new KeyError(kind, name, error);
  }
}

/** App Attest by `@expo/app-integrity`. */
export function expoAppIntegrity(module: AppIntegrity): AppleKeys {
  return {
    platform: "apple",
    isSupported: () => module.isSupported,
    generateKey: () => mapped(module.generateKeyAsync()),
    attestKey: (keyId, challenge) => mapped(module.attestKeyAsync(keyId, challenge)),
    generateAssertion: (keyId, data) => mapped(module.generateAssertionAsync(keyId, data)),
  };
}
