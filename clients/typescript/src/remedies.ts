import { ClientError, KeyError, Refused, UnexpectedAnswer } from "./errors.js";
import { asksForProof } from "./refusal.js";
import type { Phase } from "./reports.js";
import { keyIdOf, type Stage, type State } from "./state.js";

export type Remedy =
  /** The key is useless. */
  | "newKey"
  /** The state is kept, and tried again after a while. */
  | "wait"
  /** Nothing that the client does can change it. */
  | "giveUp";

/** The number of unknown failures of the device after which its key is given up. */
export const UNKNOWN_FAILURE_MAX = 3;

/** The remedy for a failure of an enrolment in this state. */
export function remedyFor(error: unknown, state: State): Remedy {
  if (error instanceof KeyError) {
    if (error.kind === "lost" || error.kind === "input") return "newKey";
    if (error.kind === "unsupported") return "giveUp";
    const isSpent = mayBeTheKey(error, state) && state.unknownFailures >= UNKNOWN_FAILURE_MAX;
    return isSpent ? "newKey" : "wait";
  }
  if (error instanceof Refused) {
    if (error.refusal.action === "retry_later") return "wait";
    return asksForProof(error.refusal) ? "newKey" : "giveUp";
  }
  if (error instanceof UnexpectedAnswer) return "wait";
  return error instanceof ClientError ? "giveUp" : "wait";
}

/** True for an unknown failure of the device that another key may not have. */
export function mayBeTheKey(error: unknown, state: State): boolean {
  return error instanceof KeyError && error.kind === "unknown" && keyIdOf(state) !== null;
}

/** The step that is tried at a stage. */
export function phaseOf(stage: Stage, platform: "apple" | "android"): Phase {
  switch (stage.name) {
    case "none":
      return platform === "apple" ? "key" : "challenge";
    case "made":
      return "challenge";
    case "challenged":
      return "attest";
    case "attested":
      return "verify";
    case "enrolled":
      return "request";
  }
}
