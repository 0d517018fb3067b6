import { InvalidRequest } from "./errors.js";
import { defaultRetries, type RetryPolicy } from "./retries.js";
import { targetOf } from "./target.js";

/** A client's knowledge of its gateway. Ask the operator for whatever differs from the defaults. */
export interface Configuration {
  /** The base URL of the gateway's own endpoints: scheme, host, port and `endpoints.base`. */
  readonly gateway: string;
  /**
   * The number of signed requests under way at once on Apple's platforms: 1, the default, for
   * routes with `replay: strict`; up to N for `replay: { window: N }`. Android's keys do not count.
   */
  readonly window?: number;
  /**
   * The member of the body that takes the challenge, for routes with `client_data: body`. Without
   * it, client data goes in a header.
   */
  readonly challengeMember?: string;
  /** The names of the request headers: the gateway's setting `headers`. */
  readonly headers?: Partial<HeaderNames>;
  readonly retries?: Partial<RetryPolicy>;
  /**
   * The treatment of a request that cannot be proved now. By default it is sent without a proof,
   * and the gateway decides: one that observes serves it, and one that enforces refuses it, which
   * then fails with the reason why there is no proof.
   */
  readonly whenUnproved?: "send" | "fail";
  /**
   * A name of 1 to 128 bytes that this installation keeps when its key changes, so that it keeps
   * its place while the operator lets installations in step by step.
   */
  readonly installation?: string;
  /** A token of `sallyport developer-token`, sent if the device cannot attest. Do not ship it. */
  readonly developerToken?: string;
  /** The header that session tokens are bound to: the setting `session_tokens.bind_to`. */
  readonly sessionTokenHeader?: string;
  /** False to report no failures on this device to the gateway. */
  readonly reportsFailures?: boolean;
  /** The first part of the aliases of Android's keys. */
  readonly keyAlias?: string;
}

export interface HeaderNames {
  readonly assertion: string;
  readonly clientData: string;
  readonly keyId: string;
}

/** A configuration with every default filled in. */
export interface Settings {
  /** Without a slash at its end. */
  readonly gateway: string;
  readonly places: number;
  readonly challengeMember: string | null;
  readonly headers: HeaderNames;
  readonly retries: RetryPolicy;
  readonly sendsUnproved: boolean;
  readonly installation: string | null;
  readonly developerToken: string | null;
  readonly sessionTokenHeader: string | null;
  readonly reportsFailures: boolean;
  readonly keyAlias: string;
}

export function settingsOf(given: Configuration): Settings {
  const { origin, path, query } = targetOf(given.gateway);
  if (query !== "") throw new InvalidRequest("the gateway's URL has a query");
  const gateway = origin + path.replace(/\/+$/, "");
  return {
    gateway,
    places: Math.max(1, Math.floor(given.window ?? 1)),
    challengeMember: given.challengeMember ?? null,
    headers: {
      assertion: "X-App-Attest-Assertion",
      clientData: "X-App-Attest-Client-Data",
      keyId: "X-App-Attest-Key-Id",
      ...given.headers,
    },
    retries: { ...defaultRetries, ...given.retries },
    sendsUnproved: given.whenUnproved !== "fail",
    installation: given.installation ?? null,
    developerToken: given.developerToken ?? null,
    sessionTokenHeader: given.sessionTokenHeader ?? null,
    reportsFailures: given.reportsFailures ?? true,
    keyAlias: given.keyAlias ?? `sallyport ${gateway}`,
  };
}

/** The headers whose names gateways cannot change. */
export const HeaderName = {
  challenge: "X-App-Attest-Challenge",
  token: "X-App-Attest-Token",
  action: "X-App-Attest-Action",
  failure: "X-App-Attest-Failure",
} as const;
