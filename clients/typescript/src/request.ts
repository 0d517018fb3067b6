import { inTime } from "./abort.js";
import { InvalidRequest } from "./errors.js";
import type { Fetch } from "./ports.js";

/** A request with a body in memory, which can be hashed and sent more than once. */
export interface AppRequest {
  /** In upper case. */
  readonly method: string;
  /** Percent-encoded, as it is to be sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** The members of `RequestInit` that the client does not set, such as `signal`. */
  readonly rest: RequestInit;
  /** The milliseconds in which one of the client's own requests must be answered. */
  readonly timeMax?: number;
}

/** The request with this header, in place of all of the same name. */
export function withHeader(request: AppRequest, name: string, value: string): AppRequest {
  const kept = Object.entries(request.headers).filter(
    ([other]) => other.toLowerCase() !== name.toLowerCase(),
  );
  return { ...request, headers: { ...Object.fromEntries(kept), [name]: value } };
}

/** The value of a header, whatever the case of its name; null if there is none. */
export function headerOf(request: AppRequest, name: string): string | null {
  const found = Object.entries(request.headers).find(
    ([other]) => other.toLowerCase() === name.toLowerCase(),
  );
  return found?.[1] ?? null;
}

/** The headers by their names in lower case. The values of a repeated one become a list. */
function merged(headers: HeadersInit | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  const add = (value: string | undefined, given: string | undefined) => {
    const name = given?.toLowerCase();
    if (name === undefined || value === undefined) return;
    const before = found[name];
    found[name] = before === undefined ? String(value) : `${before}, ${value}`;
  };
  if (Array.isArray(headers)) {
    for (const [name, value] of headers) add(value, name);
  } else if (typeof headers?.forEach === "function") {
    (headers as Headers).forEach(add);
  } else {
    for (const [name, value] of Object.entries(headers ?? {})) add(value, name);
  }
  return found;
}

const FORM = "application/x-www-form-urlencoded;charset=UTF-8";

/** True if a body is the fields of a form. Not every engine has the class. */
function isFields(body: unknown): boolean {
  return typeof URLSearchParams === "function" && body instanceof URLSearchParams;
}

/** The headers, with the type that `fetch` would derive from the body. */
function typed(headers: Record<string, string>, body: unknown): Record<string, string> {
  return isFields(body) ? { "content-type": FORM, ...headers } : headers;
}

function bytesOf(body: unknown): string | Uint8Array | null {
  if (body === undefined || body === null || body === "") return null;
  if (isFields(body)) return bytesOf(String(body));
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  throw new InvalidRequest("the body is neither text nor bytes, so it cannot be signed");
}

/**
 * The headers, with the wish for a fresh answer. React Native's `fetch` carries out `cache` by a
 * parameter in the query, which was signed before.
 */
function uncached(headers: Record<string, string>, cache: RequestCache | undefined) {
  if (
    "cache-control" in headers || cache === undefined
    || !["no-store", "no-cache", "reload"].includes(cache)
  ) {
    return headers;
  }
  return { ...headers, "cache-control": cache === "no-store" ? "no-store" : "no-cache" };
}

/** Reads what `fetch` takes. A stream, a form or a blob cannot be hashed before it is sent. */
export async function requestOf(
  input: string | { toString(): string } | Request,
  init: RequestInit = {},
): Promise<AppRequest> {
  const { method, headers, body, cache, ...rest } = init;
  if (typeof input === "object" && "url" in input && "method" in input) {
    const mayHaveBody = !["GET", "HEAD"].includes(input.method.toUpperCase());
    const own = mayHaveBody ? new Uint8Array(await input.clone().arrayBuffer()) : null;
    return {
      method: (method ?? input.method).toUpperCase(),
      url: input.url,
      headers: uncached(typed(merged(headers ?? input.headers), body), cache ?? input.cache),
      body: body === undefined ? (own?.length ? own : null) : bytesOf(body),
      rest: { signal: input.signal, credentials: input.credentials, ...rest },
    };
  }
  return {
    method: (method ?? "GET").toUpperCase(),
    url: String(input),
    headers: uncached(typed(merged(headers), body), cache),
    body: bytesOf(body),
    rest,
  };
}

/** The request as arguments of `fetch`. It follows no redirection: a proof is for one target. */
export function initOf(request: AppRequest): RequestInit {
  const { method, headers, body, rest } = request;
  const init: RequestInit = { ...rest, method, headers, redirect: "manual" };
  return body === null ? init : { ...init, body };
}

/** Sends a request once. */
export function transmit(fetch: Fetch, request: AppRequest): Promise<Response> {
  const init = initOf(request);
  if (request.timeMax === undefined) return fetch(request.url, init);
  return inTime((signal) => fetch(request.url, { ...init, signal }), request.timeMax);
}
