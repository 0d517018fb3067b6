import type { Refusal } from "./refusal.js";

/** A failure of the client or of the gateway. Errors of `fetch` are passed on as they are. */
export class ClientError extends Error {}

/** The gateway refuses, and the client cannot change that now. */
export class Refused extends ClientError {
  override readonly name = "Refused";

  constructor(readonly refusal: Refusal) {
    super(`the gateway refuses: ${refusal.status} ${refusal.code}`);
  }
}

/** An enrolment has to wait. Its state is kept, also between launches of the app. */
export class TryLater extends ClientError {
  override readonly name = "TryLater";

  /** @param until The end of the wait, in milliseconds since 1970. */
  constructor(readonly until: number) {
    super(`the enrolment waits until ${new Date(until).toISOString()}`);
  }
}

/** This device cannot attest a key, and the configuration has no developer token. */
export class Unsupported extends ClientError {
  override readonly name = "Unsupported";

  constructor() {
    super("this device cannot attest keys");
  }
}

/** An endpoint of the gateway gave an answer that is not the gateway's. */
export class UnexpectedAnswer extends ClientError {
  override readonly name = "UnexpectedAnswer";

  constructor(readonly status: number) {
    super(`unexpected answer with status ${status}`);
  }
}

/** The request cannot be signed or sent in this form. */
export class InvalidRequest extends ClientError {
  override readonly name = "InvalidRequest";
}

/** The state of the enrolment cannot be read or saved. */
export class StateError extends ClientError {
  override readonly name = "StateError";

  constructor(override readonly cause: unknown) {
    super("the state of the enrolment cannot be read or saved");
  }
}

/**
 * The consequence of a failure of the device.
 *
 * - `transient`: the same call may succeed later.
 * - `lost`: the key is gone, or will never sign again.
 * - `input`: the platform does not accept the arguments, so another key is needed to enrol.
 * - `unsupported`: this device cannot make such a key.
 * - `unknown`: three such failures in a row end a key.
 */
export type KeyFailure = "transient" | "lost" | "input" | "unsupported" | "unknown";

/** A failure of App Attest or of the Android Keystore. */
export class KeyError extends ClientError {
  override readonly name = "KeyError";

  /** @param code The name of the failure in reports to the gateway, of letters and digits. */
  constructor(
    readonly kind: KeyFailure,
    readonly code: string,
    override readonly cause?: unknown,
  ) {
    super(`the device failed: ${code}`);
  }

  /** True if another key may succeed. */
  get mayBlameKey(): boolean {
    return this.kind !== "transient" && this.kind !== "unsupported";
  }
}
