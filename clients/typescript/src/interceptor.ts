import { base64, utf8 } from "./bytes.js";
import type { AttestClient, Proof } from "./client.js";
import { InvalidRequest } from "./errors.js";

/** The part of Axios' `CancelToken` that the interceptor needs. */
export interface HttpCancelToken {
  /** The error; undefined until the request is cancelled. */
  readonly reason?: unknown;
  subscribe(listener: () => void): void;
  unsubscribe(listener: () => void): void;
}

/** The members of a request of Axios that the interceptor reads. */
export interface HttpConfig {
  method?: string;
  data?: unknown;
  headers?: object;
  auth?: { readonly username?: string; readonly password?: string };
  responseType?: string;
  withCredentials?: boolean;
  signal?: unknown;
  cancelToken?: unknown;
  timeout?: number;
  timeoutErrorMessage?: string;
  transitional?: { readonly clarifyTimeoutError?: boolean };
  validateStatus?: ((status: number) => boolean) | null;
  adapter?: unknown;
  /** The proof of the request; an assertion if it is missing. */
  proof?: Proof;
}

/** The part of an instance of Axios that the interceptor needs. */
export interface HttpInstance {
  getUri(config?: HttpConfig): string;
}

/** An answer in Axios' form. */
export interface HttpAnswer {
  readonly data: unknown;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly config: HttpConfig;
  readonly request: null;
}

/** A function of Axios that sends a request. */
export type HttpAdapter = (config: any) => Promise<unknown>;

/**
 * An interceptor for `http.interceptors.request.use(...)`: requests to the gateway's origin go
 * through the client, all others as before.
 *
 * It replaces the adapter rather than adding headers, because a proof covers the body as it is
 * sent, and a refusal may need another proof. The URL counts that a request has when it is sent,
 * after all interceptors.
 *
 * @param getAdapter `axios.getAdapter`, which finds the adapter of the other requests by its name.
 *   Without it, no later interceptor may move a request from the gateway to another server.
 */
export function interceptor(
  client: AttestClient,
  http: HttpInstance,
  getAdapter?: (adapter: any, config: any) => HttpAdapter,
): <Config extends HttpConfig>(config: Config) => Config {
  return (config) => {
    const { adapter } = config;
    let others: HttpAdapter | undefined;
    if (typeof adapter === "function") {
      others = adapter as HttpAdapter;
    } else if (getAdapter !== undefined) {
      others = (final) => getAdapter(adapter, final)(final);
    } else if (!client.covers(http.getUri(config))) {
      return config;
    }
    config.adapter = async (final: HttpConfig) => {
      const url = encoded(http.getUri(final));
      if (client.covers(url)) return deliver(client, url, final, config.proof);
      if (others !== undefined) return others(final);
      throw new InvalidRequest("the request was moved to another server: pass axios.getAdapter");
    };
    return config;
  };
}

/** The URL with the letters encoded that Axios leaves in a query. */
function encoded(url: string): string {
  const start = url.indexOf("?");
  if (start < 0) return url;
  const query = url.slice(start).replace(
    /['[\]]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return url.slice(0, start) + query;
}

async function deliver(
  client: AttestClient, url: string, config: HttpConfig, proof: Proof | undefined,
): Promise<HttpAnswer> {
  if (config.responseType === "stream") {
    throw new InvalidRequest("the client gives no streams: use its fetch");
  }
  const limits = new Limits(config);
  try {
    const init: RequestInit = {
      method: (config.method ?? "get").toUpperCase(),
      headers: headersOf(config),
      // The client says what it cannot sign.
      body: (config.data ?? null) as string | null,
      signal: limits.signal,
    };
    const { withCredentials } = config;
    if (withCredentials !== undefined) {
      init.credentials = withCredentials ? "include" : "same-origin";
    }
    const response = await client.fetch(url, init, proof);
    const headers: Record<string, string> = {};
    response.headers.forEach((value, name) => {
      headers[name] = value;
    });
    const { status, statusText } = response;
    const data = await content(response, config.responseType);
    const answer: HttpAnswer = { data, status, statusText, headers, config, request: null };
    if (config.validateStatus?.(status) === false) throw failure(answer);
    return answer;
  } catch (error) {
    throw limits.reason ?? error;
  } finally {
    limits.end();
  }
}

/** The headers as strings. Axios has a class for them, and undefined for what it leaves out. */
function headersOf({ headers, auth }: HttpConfig): Record<string, string> {
  const { toJSON } = (headers ?? {}) as { toJSON?: () => object };
  const members: object = typeof toJSON === "function" ? toJSON.call(headers) : headers ?? {};
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(members)) {
    const isReplaced = auth !== undefined && name.toLowerCase() === "authorization";
    if (value === undefined || value === null || value === false || isReplaced) continue;
    found[name] = String(value);
  }
  if (auth !== undefined) {
    const words = `${auth.username ?? ""}:${auth.password ?? ""}`;
    found["Authorization"] = `Basic ${base64(utf8(words))}`;
  }
  return found;
}

/** What ends a request early: its signal, its token or its time. */
class Limits {
  private readonly controller = new AbortController();
  private readonly given: AbortSignal | undefined;
  private readonly token: HttpCancelToken | undefined;
  private readonly timer: ReturnType<typeof setTimeout> | undefined;
  /** The error in Axios' form, as soon as the request was ended. */
  reason: unknown;

  constructor(private readonly config: HttpConfig) {
    this.given = (config.signal ?? undefined) as AbortSignal | undefined;
    this.token = (config.cancelToken ?? undefined) as HttpCancelToken | undefined;
    const timeout = config.timeout ?? 0;
    this.timer = timeout > 0 ? setTimeout(() => this.expire(timeout), timeout) : undefined;
    this.given?.addEventListener("abort", this.cancel);
    this.token?.subscribe(this.cancel);
    if (this.given?.aborted === true || this.token?.reason !== undefined) this.cancel();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  end(): void {
    clearTimeout(this.timer);
    this.given?.removeEventListener("abort", this.cancel);
    this.token?.unsubscribe(this.cancel);
  }

  private readonly cancel = () => {
    this.abort(this.token?.reason ?? Object.assign(new Error("canceled"), {
      name: "CanceledError", code: "ERR_CANCELED", __CANCEL__: true, config: this.config,
    }));
  };

  private expire(timeout: number): void {
    const { timeoutErrorMessage, transitional } = this.config;
    const message = timeoutErrorMessage ?? `timeout of ${timeout}ms exceeded`;
    const code = transitional?.clarifyTimeoutError === true ? "ETIMEDOUT" : "ECONNABORTED";
    this.abort(Object.assign(new Error(message), {
      name: "AxiosError", isAxiosError: true, code, config: this.config,
    }));
  }

  private abort(reason: unknown): void {
    this.reason ??= reason;
    this.controller.abort();
  }
}

/** Axios itself parses JSON, after the adapter. */
function content(response: Response, type: string | undefined): Promise<unknown> {
  if (type === "arraybuffer") return response.arrayBuffer();
  if (type === "blob") return response.blob();
  return response.text();
}

/** The error that Axios throws for a status that the app does not accept. */
function failure(response: HttpAnswer): Error {
  const code = response.status >= 500 ? "ERR_BAD_RESPONSE" : "ERR_BAD_REQUEST";
  return Object.assign(new Error(`Request failed with status code ${response.status}`), {
    name: "AxiosError", isAxiosError: true, code, config: response.config, response,
  });
}
