import { inTime } from "./abort.js";
import { adviceOf, SECONDS_MAX, type RetryAdvice } from "./retries.js";

/** The action that the gateway advises. */
export type Action =
  "sign_again" | "fetch_challenge" | "attest_again" | "update_app" | "retry_later" | "none";

/** A refusal by the gateway: its problem document (RFC 9457) and the headers that belong to it. */
export interface Refusal {
  readonly status: number;
  /** One of the codes in the client guide, such as `challenge_expired`. */
  readonly code: string;
  readonly action: Action;
  /** `unspent`, `spent` or `unknown`; null if the request brought no assertion. */
  readonly assertion: string | null;
  /** An explanation for developers, on gateways that give one. Do not parse it. */
  readonly detail: string | null;
  /** The id by which the operator finds the request. */
  readonly requestId: string | null;
  /** The seconds to wait; null if the answer does not say. */
  readonly retryAfter: number | null;
  readonly retry: RetryAdvice | null;
}

/** More characters than any problem document of a gateway has. */
const LENGTH_MAX = 64 * 1024;

const ACTIONS: readonly string[] = [
  "sign_again", "fetch_challenge", "attest_again", "update_app", "retry_later", "none",
];

/** The actions for the codes of refusals with 401. If there is a document, its action counts. */
const ACTIONS_BY_CODE: Readonly<Record<string, Action>> = {
  assertion_required: "sign_again",
  assertion_malformed: "sign_again",
  assertion_invalid: "sign_again",
  assertion_replayed: "sign_again",
  challenge_expired: "sign_again",
  challenge_required: "fetch_challenge",
  request_mismatch: "sign_again",
  body_mismatch: "sign_again",
  key_unknown: "attest_again",
  device_token_invalid: "sign_again",
  token_invalid: "sign_again",
};

function isAction(word: string): word is Action {
  return ACTIONS.includes(word);
}

function hasProblem(response: Response): boolean {
  const type = response.headers.get("Content-Type") ?? "";
  return response.status >= 400 && type.toLowerCase().startsWith("application/problem+json");
}

/** The code in `WWW-Authenticate: AppAttest error="..."`; null if there is none. */
function refusedCode(response: Response): string | null {
  if (response.status !== 401) return null;
  const text = response.headers.get("WWW-Authenticate") ?? "";
  return /AppAttest error="([^"]+)/i.exec(text)?.[1] ?? null;
}

/** The seconds in `Retry-After`, if it holds a number, at most a week. */
function retryAfter(response: Response): number | null {
  const text = response.headers.get("Retry-After");
  return text !== null && /^[0-9]{1,10}$/.test(text) ? Math.min(Number(text), SECONDS_MAX) : null;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The members of a JSON object; null for any other text. */
export function members(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * Parses a refusal, or returns null if the answer is the API's. The answer's body stays unread.
 *
 * An answer to HEAD has no document, and a proxy may replace the document by its own page. A
 * refusal with 401 has its code in a header, too.
 */
export async function refusalOf(response: Response): Promise<Refusal | null> {
  const inHeader = refusedCode(response);
  if (!hasProblem(response) && inHeader === null) return null;
  const { status } = response;
  const shared = { status, retryAfter: retryAfter(response) };
  if (hasProblem(response)) {
    const body = await inTime(() => response.clone().text());
    if (body.length > LENGTH_MAX) return null;
    const document = members(body);
    const [code, action] = [text(document?.["code"]), text(document?.["action"])];
    if (document !== null && code !== null && action !== null) {
      // This version could not carry out an action that it does not know.
      if (!isAction(action)) return null;
      return {
        ...shared,
        code,
        action,
        assertion: text(document["assertion"]),
        detail: text(document["detail"]),
        requestId: text(document["request_id"]),
        retry: adviceOf(document["retry"]),
      };
    }
  }
  if (inHeader === null) return null;
  return {
    ...shared,
    code: inHeader,
    action: ACTIONS_BY_CODE[inHeader] ?? "none",
    assertion: null,
    detail: null,
    requestId: response.headers.get("X-Request-Id"),
    retry: null,
  };
}

/** True if another proof may be accepted. */
export function asksForProof(refusal: Refusal): boolean {
  return ["sign_again", "fetch_challenge", "attest_again"].includes(refusal.action);
}

/**
 * True if the API may have got the request: its answer did not reach the gateway, or the gateway
 * may have accepted this very assertion before, because the network sent the request twice.
 */
function mayHaveTakenEffect({ code, assertion }: Refusal): boolean {
  if (["upstream_failed", "upstream_timeout"].includes(code)) return true;
  return code === "assertion_replayed" && assertion !== "unspent";
}

/** True if the request may be sent again without taking effect twice. */
export function allowsRepeating(refusal: Refusal, method: string): boolean {
  if (!mayHaveTakenEffect(refusal)) return true;
  return ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].includes(method);
}
