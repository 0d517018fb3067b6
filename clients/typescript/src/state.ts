import { members } from "./refusal.js";
import { adviceOf, type RetryAdvice } from "./retries.js";

/** The statement of the platform about a key, in base64. */
export type Attestation =
  { readonly attestation: string } | { readonly chain: readonly string[] };

/** The progress of a key. A phone attests a key as it makes it, so Android skips two stages. */
export type Stage =
  | { readonly name: "none" }
  /** App Attest has made the key. */
  | { readonly name: "made"; readonly keyId: string }
  /** The key has its challenge. Apple wants the same key and the same hash until it answers. */
  | { readonly name: "challenged"; readonly keyId: string; readonly challenge: string }
  /** The platform has attested the key, once; the gateway has not confirmed it yet. */
  | {
      readonly name: "attested";
      readonly keyId: string;
      readonly challenge: string;
      readonly proof: Attestation;
    }
  | { readonly name: "enrolled"; readonly keyId: string };

/** A time in which nothing is tried. Its length reveals if the clock was set back since. */
export interface Wait {
  /** Milliseconds since 1970. */
  readonly until: number;
  /** Milliseconds. */
  readonly length: number;
}

/** The state of an enrolment that is kept between launches. */
export interface State {
  readonly stage: Stage;
  /** The number of the key's alias on Android, 0 or 1. A new key takes the other one. */
  readonly slot: number;
  /** The number of failures in a row, of the enrolment or later of the key's signatures. */
  readonly failures: number;
  /** The number of keys in a row that turned out to be useless before they were enrolled. */
  readonly uselessKeys: number;
  /** The number of unknown failures of the device with the key that is being enrolled. */
  readonly unknownFailures: number;
  readonly wait: Wait | null;
  /** The time at which a key was last given up, in milliseconds; null for never. */
  readonly renewedAt: number | null;
  /** True if the device cannot attest keys. It is asked again after the wait. */
  readonly isUnsupported: boolean;
  /** The gateway's advice for trying again after failures of the device. */
  readonly advice: RetryAdvice | null;
}

export const freshState: State = {
  stage: { name: "none" },
  slot: 0,
  failures: 0,
  uselessKeys: 0,
  unknownFailures: 0,
  wait: null,
  renewedAt: null,
  isUnsupported: false,
  advice: null,
};

const FORMAT = 1;

export function keyIdOf(state: State): string | null {
  return state.stage.name === "none" ? null : state.stage.keyId;
}

export function waitOf(now: number, seconds: number): Wait {
  return { until: now + seconds * 1000, length: seconds * 1000 };
}

export function textOf(state: State): string {
  return JSON.stringify({ format: FORMAT, ...state });
}

/** A state in another form counts as none: a new key follows. */
export function stateOf(text: string): State {
  const object = members(text);
  if (object === null || object["format"] !== FORMAT) return freshState;
  return {
    stage: stageOf(object["stage"]),
    slot: object["slot"] === 1 ? 1 : 0,
    failures: number(object["failures"]) ?? 0,
    uselessKeys: number(object["uselessKeys"]) ?? 0,
    unknownFailures: number(object["unknownFailures"]) ?? 0,
    wait: kept(object["wait"]),
    renewedAt: number(object["renewedAt"]),
    isUnsupported: object["isUnsupported"] === true,
    advice: adviceOf(object["advice"]),
  };
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function kept(value: unknown): Wait | null {
  const { until, length } = Object(value) as Record<string, unknown>;
  const [end, span] = [number(until), number(length)];
  return end === null || span === null ? null : { until: end, length: span };
}

function stageOf(value: unknown): Stage {
  const { name, keyId, challenge, proof } = Object(value) as Record<string, unknown>;
  if (typeof keyId !== "string") return { name: "none" };
  if (name === "made" || name === "enrolled") return { name, keyId };
  if (typeof challenge !== "string") return { name: "none" };
  if (name === "challenged") return { name, keyId, challenge };
  const statement = proofOf(proof);
  if (name !== "attested" || statement === null) return { name: "none" };
  return { name, keyId, challenge, proof: statement };
}

function proofOf(value: unknown): Attestation | null {
  const { attestation, chain } = Object(value) as Record<string, unknown>;
  if (typeof attestation === "string") return { attestation };
  const isChain = Array.isArray(chain) && chain.every((text) => typeof text === "string");
  return isChain ? { chain: chain as string[] } : null;
}
