import { HeaderName } from "./configuration.js";
import {
  ClientError, KeyError, Refused, StateError, UnexpectedAnswer, Unsupported,
} from "./errors.js";
import type { AppInfo } from "./ports.js";
import { withHeader, type AppRequest } from "./request.js";

export type Phase =
  "support" | "key" | "challenge" | "attest" | "verify" | "assert" | "request";

/** A failure on this device, for the header `X-App-Attest-Failure`. */
export interface Report {
  readonly phase: Phase;
  readonly code: string;
  readonly attempt: number;
}

const DEVICE_PHASES: readonly Phase[] = ["support", "key", "attest", "assert"];
const WORD = /^[A-Za-z0-9._-]{1,128}$/;
/** The most that `try` can say. */
const ATTEMPT_MAX = 99;

/** The names of network errors by what Node.js says of them; React Native says less. */
const NETWORK_CODES: readonly (readonly [RegExp, string])[] = [
  [/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH/, "unreachable"],
  [/ECONNRESET|EPIPE|UND_ERR_SOCKET/, "connectionLost"],
  [/TIMEOUT|ETIMEDOUT|timed out/i, "timedOut"],
  [/CERT|SELF_SIGNED|SSL/i, "untrusted"],
];

function networkCode(error: unknown): string | null {
  const { name, message, cause } = Object(error) as Record<string, unknown>;
  if (name === "AbortError") return null;
  const code = (Object(cause) as Record<string, unknown>)["code"];
  const words = `${String(code ?? "")} ${String(message ?? "")}`;
  return NETWORK_CODES.find(([pattern]) => pattern.test(words))?.[1] ?? "other";
}

/** The code of an error; null if it is no failure, such as a cancelled request or a wait. */
function codeOf(error: unknown): string | null {
  if (error instanceof KeyError) return WORD.test(error.code) ? error.code : "other";
  if (error instanceof Unsupported) return "unsupported";
  if (error instanceof Refused) return "refused";
  if (error instanceof UnexpectedAnswer) return "unexpectedAnswer";
  if (error instanceof StateError) return "storage";
  return error instanceof ClientError ? null : networkCode(error);
}

/**
 * Reports each failure once: with the next request, or by a request of its own if none follows
 * soon. No request is repeated for a report.
 */
export class Reports {
  /** The failure that was not reported yet. */
  private failure: Report | null = null;

  constructor(
    private readonly isOn: boolean,
    private readonly platform: "apple" | "android",
    private readonly app: AppInfo | undefined,
  ) {}

  note(phase: Phase, error: unknown, attempt = 1): void {
    const code = codeOf(error);
    if (!this.isOn || code === null) return;
    // A later failure of the network must not hide one of the device.
    if (this.isOfDevice(this.failure) && !DEVICE_PHASES.includes(phase)) return;
    this.failure = { phase, code, attempt: Math.min(Math.max(attempt, 1), ATTEMPT_MAX) };
  }

  /** Only one of several requests under way carries the report. */
  carrying(request: AppRequest): { readonly request: AppRequest; readonly report: Report | null } {
    const report = this.failure;
    if (report === null) return { request, report };
    this.failure = null;
    return { request: withHeader(request, HeaderName.failure, this.text(report)), report };
  }

  /** Keeps a report for later, because no answer has shown that the gateway got it. */
  keep(report: Report | null): void {
    this.failure ??= report;
  }

  /** True if a failure is worth a request of its own. */
  get isUrgent(): boolean {
    return this.isOfDevice(this.failure) || this.failure?.phase === "verify";
  }

  private isOfDevice(report: Report | null): boolean {
    return report !== null && DEVICE_PHASES.includes(report.phase);
  }

  /** The header's value. Parts that are no words would only spoil the rest. */
  private text(report: Report): string {
    const parts = [`phase=${report.phase}`, `code=${report.code}`];
    const system = this.app?.system ?? "";
    if (/^[1-9][0-9]?(?:\.[0-9]{1,2}){0,2}$/.test(system)) parts.push(`os=${system}`);
    parts.push(`try=${report.attempt}`);
    if (this.platform === "android") parts.push("platform=android");
    for (const name of ["app", "version"] as const) {
      const value = (name === "app" ? this.app?.name : this.app?.version) ?? "";
      if (WORD.test(value)) parts.push(`${name}=${value}`);
    }
    return parts.join(";");
  }
}
